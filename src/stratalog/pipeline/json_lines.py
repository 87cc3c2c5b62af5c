"""JSON lines to columns of Python values: objects by column name, or arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

from stratalog.errors import DataError
from stratalog.lang.syntax import Declaration
from stratalog.pipeline.convert import PythonColumn, Real
from stratalog.pipeline.delimited import MARK, Reject, not_utf8
from stratalog.pipeline.files import read_chunks
from stratalog.pipeline.tables import Vocabulary, member

CHUNK = 1 << 22  # Python objects take some ten times the room of their text


@dataclass(slots=True)
class JsonRows:
    """Some rows by column, with the line number and the bytes of each."""

    columns: list[PythonColumn]
    lines: list[int]
    raw: list[bytes] = field(default_factory=list)

    def text(self, row: int) -> str:
        """Return a row as it stands in the file."""
        return self.raw[row].decode()


class JsonReader:
    """A file of JSON lines; its first line tells the width where the program does not."""

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        path: str,
        reject: Reject,
        fixed: Sequence[tuple[str, str | None]] = (),
        *,
        strict: bool = True,
    ) -> None:
        self.name = name
        self.fixed = dict(fixed)
        self.path = path
        self.reject = reject
        self.strict = strict
        self.rejected: list[tuple[DataError, str]] = []  # of the rows that are yielded next
        self.declared = vocabulary.declared(name)
        known = vocabulary.widths(name)
        self.width: int | None = next(iter(known)) if len(known) == 1 else None
        self.known = known

    def rows(self, stream: BinaryIO, *, from_start: bool = True) -> Iterator[JsonRows]:
        """Yield the rows of the file, chunk by chunk; bad lines are reported after their chunk.

        If `strict`, the chunk ends before the first of them, so that the first mistake of the file
        is told, whoever finds it.
        """
        line = 1
        for chunk in read_chunks(stream, CHUNK):
            mark = MARK if line == 1 and from_start else b""
            lines = chunk.removeprefix(mark).split(b"\n")
            found = self._parse(lines, line)
            line += chunk.count(b"\n")
            if found.lines:
                yield found
            for error, text in self.rejected:
                self.reject(error, text)
            self.rejected = []

    def settle(self, stream: BinaryIO) -> int | None:
        """Return the width that the first lines of a file tell, without reading on."""
        for chunk in read_chunks(stream, 1 << 16):
            for line in chunk.removeprefix(MARK).split(b"\n"):
                with suppress(DataError):
                    if line.strip():
                        self._row(line, 1)
                if self.width is not None:
                    return self.width
        return None

    def _parse(self, lines: Sequence[bytes], first: int) -> JsonRows:
        rows: list[Sequence[object]] = []
        numbers: list[int] = []
        raw: list[bytes] = []
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            try:
                rows.append(self._row(line, number))
            except DataError as error:
                self.rejected.append((error, line.decode("utf-8", "replace")))
                if self.strict:
                    break
            else:
                numbers.append(number)
                raw.append(line)
        if not rows:
            return JsonRows([], [])
        columns = [PythonColumn(values, spelled=True) for values in zip(*rows, strict=True)]
        return JsonRows(columns, numbers, raw)

    def _row(self, line: bytes, number: int) -> Sequence[object]:
        """Return the values of a line in the order of the predicate's columns."""
        value = self._loads(line, number)
        if isinstance(value, dict):
            return self._by_name({**self.fixed, **value}, number)
        if not isinstance(value, list):
            raise DataError(
                "D109", "the line is neither an array nor an object", path=self.path, line=number,
                help='write ["a", 1] or {"name": "a", "n": 1}',
            )  # fmt: skip
        value.extend(self.fixed.values())
        self._settle_width(len(value))
        if len(value) != self.width:
            raise DataError(
                "D105", f"{len(value)} values where {self.width} are expected",
                path=self.path, line=number,
                help=f"write one value for each argument of {self.name}",
            )  # fmt: skip
        return value

    def _loads(self, line: bytes, number: int) -> object:
        try:
            value: object = _decode(line.decode())
            if b"\\u" in line:
                json.dumps(value, ensure_ascii=False).encode()  # fails on half a surrogate pair
        except UnicodeDecodeError:
            raise not_utf8(self.path, number) from None
        except UnicodeEncodeError:
            raise DataError(
                "D109", "the line has half of a surrogate pair, which is no character",
                path=self.path, line=number, help="write both halves, or the character itself",
            ) from None  # fmt: skip
        except (ValueError, RecursionError) as error:
            raise DataError(
                "D109", f"the line is not valid JSON: {error}", path=self.path, line=number,
                help="write one JSON array or object per line, in double quotes",
            ) from None  # fmt: skip
        return value

    def _settle_width(self, width: int) -> None:
        if self.width is None and (not self.known or width in self.known):
            self.width = width
        if self.width is None:
            self.width = min(self.known)

    def _by_name(self, value: dict[str, object], number: int) -> Sequence[object]:
        declaration = self._declaration(value)
        if declaration is not None:
            self.width = declaration.predicate.arity
            return [member(value, each.source or each.name) for each in declaration.columns]
        names = [f"c{place}" for place in range(len(value))]
        if set(names) != set(value) or (self.width is not None and len(names) != self.width):
            raise DataError(
                "D306", f"{self.name} has no declared columns to match the names "
                f"{', '.join(value) or 'of an empty object'}",
                path=self.path, line=number,
                help=f"declare them:  @declare {self.name}({_columns(value)}) .  or write arrays",
            )  # fmt: skip
        self.width = len(names)
        return [value[name] for name in names]

    def _declaration(self, value: dict[str, object]) -> Declaration | None:
        fits = [d for d in self.declared if all(_has(value, c.source or c.name) for c in d.columns)]
        same = [d for d in fits or self.declared if self.width in (None, d.predicate.arity)]
        return same[0] if same else None


def _has(value: dict[str, object], path: str) -> bool:
    return path in value or path.partition(".")[0] in value


def _columns(value: dict[str, object]) -> str:
    return ", ".join(f"{name} string" for name in value) or "name string"


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _integer(text: str) -> object:
    # Python refuses to read integers of thousands of digits; as text they stay exact.
    return int(text) if len(text) < 4000 else Real(text)  # noqa: PLR2004


_decode = json.JSONDecoder(parse_float=Real, parse_int=_integer, parse_constant=_no_constant).decode
