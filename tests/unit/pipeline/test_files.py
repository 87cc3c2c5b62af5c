"""Files are opened by name, decompressed as their name tells, and cut where lines end."""

from __future__ import annotations

import bz2
import gzip
import io
import os

import pyarrow as pa
import pytest

from stratalog.errors import DataError
from stratalog.pipeline import entities, files
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import BadLine, ReadReport, format_of, open_bytes, read_chunks
from stratalog.pipeline.local import ReadOptions, read_paths

CONTENT = b"".join(b"line %d\n" % i for i in range(50_000))
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_every_compression_is_read_members_and_all(tmp_path, suffix):
    file = tmp_path / f"a.nt{suffix}"
    file.write_bytes(COMPRESS[suffix](CONTENT) + COMPRESS[suffix](b"tail"))
    with open_bytes(str(file)) as stream:
        assert b"".join(read_chunks(stream, 10_000)) == CONTENT + b"tail"
        assert stream.bytes_read == len(CONTENT) + 4
    with open_bytes(str(file)) as stream:
        assert io.BufferedReader(stream).readlines() == [
            *CONTENT.splitlines(keepends=True),
            b"tail",
        ]
    with open_bytes(str(file)) as stream:
        assert stream.read() == CONTENT + b"tail"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "not compressed"])
def test_a_damaged_compressed_file_is_an_error_with_its_path(tmp_path, suffix, damage):
    whole = COMPRESS[suffix](CONTENT)
    bad = {
        "truncated": whole[:-20],
        "corrupt": whole[:5] + b"\xff" * 200 + whole[205:],
        "not compressed": CONTENT,
    }[damage]
    file = tmp_path / f"a.nt{suffix}"
    file.write_bytes(bad)
    with open_bytes(str(file)) as stream, pytest.raises(DataError, match="D104") as caught:
        list(read_chunks(stream))
    assert caught.value.path == str(file)
    assert caught.value.help


def test_missing_files_and_folders_are_errors(tmp_path):
    for name in ("missing.nt", "missing.nt.gz"):
        with pytest.raises(DataError, match="D100"):
            open_bytes(str(tmp_path / name))
    with pytest.raises(DataError, match="D104: this is a folder"):
        open_bytes(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path):
    file = tmp_path / "a.nt"
    file.write_bytes(b"")
    file.chmod(0)
    with pytest.raises(DataError, match="D104"):
        open_bytes(str(file))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.nt", ("nt", None)),
        ("dir.gz/a.b.NQ.GZ", ("nq", "gzip")),
        ("a.owl.bz2", ("rdf", "bz2")),
        ("x/depends.tsv.zst", ("tsv", "zstd")),
        ("a.parquet", ("parquet", None)),
    ],
)
def test_the_name_tells_format_and_compression(name, expected):
    assert format_of(name) == expected


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xlsx", ".nt", "a.txt.gz"])
def test_a_name_that_tells_nothing_is_an_error(name):
    with pytest.raises(DataError, match="D106"):
        format_of(name)


@pytest.mark.parametrize("size", [1, 100, 1 << 16, 1 << 20])
@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
def test_pieces_end_where_lines_end(size, ending):
    content = b"a\r\n\n" + b"x" * 200_000 + b"\n" + b"b\n" * 100_000 + b"last" + ending
    pieces = list(read_chunks(io.BytesIO(content), size))
    assert b"".join(pieces) == content
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert all(pieces)


def test_a_long_line_is_one_piece():
    line = b"x" * (10 << 20)
    assert list(read_chunks(io.BytesIO(line + b"\n"), 1 << 16)) == [line + b"\n"]


def test_the_report_keeps_samples_and_a_bounded_number_of_rejected_lines():
    report = ReadReport()
    for i in range(10_003):
        report.reject(BadLine("a.nt", i, "why", "text"))
    report.reject(BadLine("a.nt", 1, "why", "y" * (17 << 20)))
    assert report.bad_lines == 10_004
    assert [bad.line for bad in report.samples] == [0, 1, 2, 3, 4]
    assert len(report.rejected) == 10_000
    assert report.rejected_not_kept == 4


def test_reports_add_up():
    one, two = ReadReport(rows=1, bytes=2), ReadReport(rows=10, graphs_dropped=3)
    two.reject(BadLine("b.nt", 4, "why", "text"))
    one.add(two)
    assert (one.rows, one.bytes, one.graphs_dropped, one.bad_lines) == (11, 2, 3, 1)
    assert one.rejected == [("b.nt", 4, "text")]


@pytest.mark.parametrize("name", ["a.nt", "a.nq.gz", "a.jsonl.gz", "a.ttl.gz", "a.rdf.gz"])
def test_a_line_or_text_that_never_ends_is_refused(tmp_path, monkeypatch, name):
    for module in (files, entities):
        monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    starts = {"ttl": b'<a:> <b:> "', "rdf": b'<a xmlns="e:">', "jsonl": b'["'}
    start = starts.get(name.split(".")[1], b'<a:> "')
    content = start + b"x" * (20 << 20)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for on_bad_input in ("error", "skip"):
        with pytest.raises(DataError) as caught:
            read_paths([tmp_path / name], options=ReadOptions(on_bad_input=on_bad_input),
                       dictionary=Dictionary())  # fmt: skip
        assert (caught.value.code, caught.value.path) == ("D112", str(tmp_path / name))
