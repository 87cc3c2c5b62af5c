"""Opening files as bytes, plain or compressed, and the account of what was read from them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple, cast

from stratalog.errors import DataError

CHUNK = 16 << 20  # of text held at once: large enough for the kernels, small beside the facts

LONGEST_LINE = 1 << 28  # bytes: a small compressed file may hold one line of any length

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
FORMATS = {
    ".nt": "nt",
    ".nq": "nq",
    ".ttl": "ttl",
    ".trig": "trig",
    ".rdf": "rdf",
    ".owl": "rdf",
    ".csv": "csv",
    ".tsv": "tsv",
    ".facts": "facts",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".orc": "orc",
}

MOST_SAMPLES = 5
MOST_REJECTED = 10_000
MOST_REJECTED_TEXT = 16 << 20


class BadLine(NamedTuple):
    """A line that could not be read; lines count from one, None where the parser does not tell."""

    path: str
    line: int | None
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read; `progress` is told a path, and the bytes read and to be read in all."""

    graphs: str = "drop"  # or "keep"
    header: bool = False
    on_bad_input: str = "error"  # or "skip"
    progress: Callable[[str, int, int], None] | None = None
    pause: Callable[[], None] | None = None  # called between blocks: others may use the dictionary

    @property
    def skip(self) -> bool:
        """Whether bad rows are counted instead of raised."""
        return self.on_bad_input == "skip"

    def between(self) -> None:
        """Let others use the dictionary, between two blocks."""
        if self.pause is not None:
            self.pause()


@dataclass(slots=True)
class ReadReport:
    """What reading did, over any number of files.

    `rejected` holds the rejected lines as (path, line, text): at most 10,000 of them and 16 MB of
    text; `rejected_not_kept` counts those beyond. `bad_lines` counts all.
    """

    rows: int = 0  # facts read, duplicates included
    bytes: int = 0  # read, after decompression
    bad_lines: int = 0  # skipped, with on_bad_input="skip"
    samples: list[BadLine] = field(default_factory=list)  # the first five bad lines
    rejected: list[tuple[str, int | None, str]] = field(default_factory=list)
    rejected_not_kept: int = 0
    graphs_dropped: int = 0  # quads whose graph name was dropped
    null_rows: int = 0  # rows that gave no fact because an optional column was null
    watch: Callable[[], None] | None = None  # looks at the memory that encoded facts take
    encoded_bytes: int = 0  # of the columns of facts that were read
    prefixes: dict[str, str] = field(default_factory=dict)  # of documents; "" where they differ
    _rejected_text: int = 0

    def took(self, nbytes: int) -> None:
        """Note that facts take so many more bytes."""
        self.encoded_bytes += nbytes
        if self.watch is not None:
            self.watch()

    def note_prefixes(self, found: Mapping[str, str]) -> None:
        """Remember a document's prefixes; one that means two things means nothing."""
        for name, iri in found.items():
            same = self.prefixes.setdefault(name, iri) == iri
            self.prefixes[name] = iri if same else ""

    def reject(self, bad: BadLine) -> None:
        """Count a bad line, and keep it while there is room."""
        self.bad_lines += 1
        if len(self.samples) < MOST_SAMPLES:
            self.samples.append(bad)
        size = self._rejected_text + len(bad.text)
        if len(self.rejected) < MOST_REJECTED and size <= MOST_REJECTED_TEXT:
            self.rejected.append((bad.path, bad.line, bad.text))
            self._rejected_text = size
        else:
            self.rejected_not_kept += 1

    def add(self, other: ReadReport) -> None:
        """Add what another reader did, as after reading in parallel."""
        for name in ("rows", "bytes", "graphs_dropped", "null_rows", "rejected_not_kept"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.note_prefixes(other.prefixes)
        self.bad_lines += other.bad_lines
        self.samples = (self.samples + other.samples)[:MOST_SAMPLES]
        room = max(0, MOST_REJECTED - len(self.rejected))
        self.rejected += other.rejected[:room]
        self.rejected_not_kept += len(other.rejected[room:])


def format_of(path: str) -> tuple[str, str | None]:
    """Return the format and compression that a file's name tells: ("nt", "gzip") for a.nt.gz."""
    name = PurePath(path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    inner = PurePath(name.stem) if compression else name
    data_format = FORMATS.get(inner.suffix.lower())
    if data_format is None:
        raise DataError(
            "D106",
            f"the name does not tell the format: {name.name}",
            path=path,
            help=f"name it {' '.join(FORMATS)}, optionally followed by {' '.join(COMPRESSIONS)}",
        )
    return data_format, compression


def open_bytes(path: str) -> ByteStream:
    """Open a file for reading its bytes, decompressed as its name tells; errors name the file."""
    compression = COMPRESSIONS.get(PurePath(path).suffix.lower())
    try:
        plain = open(path, "rb", buffering=0)  # noqa: SIM115, PTH123  # the caller closes it
    except FileNotFoundError:
        raise DataError(
            "D100", "there is no such file", path=path, help="check the name and the current folder"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return ByteStream(path, plain, compression)


class ByteStream(io.RawIOBase):
    """The bytes of one file, read from first to last; what goes wrong is an error with its path."""

    def __init__(self, path: str, plain: io.FileIO, compression: str | None) -> None:
        super().__init__()
        self._path = path
        self._plain = plain
        self._stream: Any = plain
        self.bytes_read = 0  # after decompression
        if compression:
            import pyarrow as pa  # plain files are read without it

            # Arrow's own file needs no interpreter between it and the decompressor.
            self._stream = pa.CompressedInputStream(pa.OSFile(path), compression)

    @property
    def path(self) -> str:
        """The file's path, for messages."""
        return self._path

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes, none only at the end of the file."""
        try:
            data = cast("bytes", self._stream.read(size if size >= 0 else None))
        except OSError as error:
            raise _unreadable(self._path, error) from None
        self.bytes_read += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  # typeshed's Buffer is 3.12
        """Fill `buffer` from its beginning; return how many bytes were read."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._plain.close()
        super().close()


def read_chunks(stream: BinaryIO | ByteStream, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the stream in pieces of about `size` bytes that end where a line ends.

    A longer line is a longer piece, up to LONGEST_LINE; the last piece ends as the stream does.
    """
    pending: list[bytes] = []
    held = 0
    while block := stream.read(max(size - held, 1 << 16)):
        cut = block.rfind(b"\n") + 1
        if cut and held + cut >= size // 2:
            yield b"".join([*pending, block[:cut]])
            pending, held = [block[cut:]], len(block) - cut
        else:
            pending.append(block)
            held += len(block)
            if held > max(LONGEST_LINE, size):
                raise too_long(getattr(stream, "path", None))
    if held:
        yield b"".join(pending)


def too_long(path: str | None, limit: int | None = None) -> DataError:
    """Return the error for a line, or a text of a document, that is longer than is read."""
    return DataError(
        "D112",
        f"a line or a text is longer than {(limit or LONGEST_LINE) >> 20} MiB",
        path=path,
        help="look at what the file holds; split the line, or leave it out",
    )


def _unreadable(path: str, error: OSError) -> DataError:
    if isinstance(error, IsADirectoryError):
        return DataError(
            "D104", "this is a folder, not a file", path=path, help="name a file in it"
        )
    if isinstance(error, PermissionError):
        return DataError(
            "D104", "the file may not be read", path=path, help="check the file's permissions"
        )
    reason = os.strerror(error.errno) if error.errno else str(error)
    if PurePath(path).suffix.lower() in COMPRESSIONS:
        return DataError(
            "D104",
            f"the compressed file is damaged or incomplete: {reason}",
            path=path,
            help="check that it was copied completely, and that its name tells its compression",
        )
    return DataError("D104", f"the file cannot be read: {reason}", path=path)
