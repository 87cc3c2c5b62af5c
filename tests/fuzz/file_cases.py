"""Files of data with bytes that were changed at random: refused with a code, or read.

    python -m tests.fuzz.file_cases nt 0 200       # the first two hundred cases of one format

A case is a format and a number, from which everything about it follows.
"""

from __future__ import annotations

import bz2
import faulthandler
import gzip
import io
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

import stratalog as sl
from stratalog.errors import StratalogError
from stratalog.lang.parse import parse_program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.local import ReadOptions, read_paths
from stratalog.pipeline.paths import DataFile
from stratalog.pipeline.reading import Context, add_block
from stratalog.pipeline.table_files import table_blocks
from stratalog.pipeline.tables import Vocabulary
from tests.fuzz.watch import watched

SECONDS = 60  # of one case: it takes a few milliseconds
PROGRAM = "@declare d(i integer, s string?, t term, w dateTime?) ."
DECLARED = parse_program(PROGRAM).declarations

NT = """<http://e/a> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
_:b1 <http://e/q> "x \\u00e9 \\"y\\"\\n"@en-GB .
# a comment
<http://e/\u00e4> <http://e/q> "Gr\u00f6\u00dfe" .
"""
NQ = NT.replace(" .\n", " <http://e/g> .\n", 2)
TURTLE = """@prefix : <http://e/> .
@base <http://b/> .
:a :p 1, 1.50, 2e3, true, "x"@en, 'y', \"\"\"long "text\"\"\" ; a :C, <c> .
[] :q ( 1 [ :r _:b ] ) .
:\u00e4 :p "2000-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .
"""
RDF_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY e "http://e/"> <!ENTITY o "a &amp; b">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/" xml:base="&e;">
<C rdf:about="&e;a"><p rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">1</p>
<q xml:lang="en">&o; \u00e9</q><r rdf:resource="#b"/><s rdf:nodeID="n"/><!-- c --></C>
<rdf:Description rdf:ID="b" xmlns:f="http://f/" f:t="x">
<l rdf:parseType="Collection"><C/><C/></l></rdf:Description>
</rdf:RDF>
"""
CSV = 'i,s,t,w\n1,"a ""b"", c",<http://e/a>,2000-01-01T00:00:00Z\n2,,_:b,\n3,"x\ny","""z""@en",\n'
TSV = "1\ta\t<http://e/a>\t2000-01-01T00:00:00\n2\t\u00e9\t_:b\t2000-01-01T00:00:00Z\n"
JSON = """{"i": 1, "s": "a\\u00e9\\ud83d\\ude00", "t": "<http://e/a>", "w": null}
[2, "b", "_:x", "2000-01-01T00:00:00Z"]
{"i": 3.0, "s": "", "t": "\\"q\\"", "w": "1999-12-31T23:59:59.5+01:00"}
"""
TOKENS = {
    "nt": ["<", ">", '"', "\\u", "\\U0010FFFF", "\\uD800", "^^", "@", "_:", ".", "<<", ">>"],
    "ttl": ["@prefix", "@base", "[", "]", "(", ")", "<<", ">>", '"""', ";", "{", "}", "\\u"],
    "rdf": ["<!ENTITY x '&e;'>", "&e;", "&x;", "<!DOCTYPE", "]]>", "<![CDATA[", "<!--", "/>",
            "&#0;", 'rdf:parseType="Literal"', 'rdf:about="', "xmlns:", 'xml:base="', "<?x"],
    "csv": ['"', '""', ",", "\r\n", "\t", "()", "i,s,t,w"],
    "jsonl": ["{", "}", "[", "]", '"', "\\ud800", "1e999", "-", "null", "NaN", "9" * 400, "[" * 50],
}  # fmt: skip
BYTES = [b"\0", b"\xff", b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r", b" "]


def _table() -> pa.Table:
    rows = 40
    return pa.table(
        {
            "i": pa.array(range(rows), pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"v{i % 5} \u00e9" for i in range(rows)]),
            "t": [f'"{i}"@en' for i in range(rows)],
            "w": pa.array([i * 1_000_000 for i in range(rows)], pa.timestamp("us")),
            "n": pa.array([{"a": i, "b": "x"} for i in range(rows)]),
        }
    )


def _parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(_table(), out, row_group_size=16, compression="zstd")
    return out.getvalue()


def _orc() -> bytes:
    out = io.BytesIO()
    pyarrow.orc.write_table(_table(), out)
    return out.getvalue()


def _zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


PLAIN: dict[str, tuple[Callable[[], bytes], str]] = {  # a file, and whose tokens go into it
    "nt": (NT.encode, "nt"),
    "nq": (NQ.encode, "nt"),
    "ttl": (TURTLE.encode, "ttl"),
    "trig": ((TURTLE + ":g { :a :p 1 }\n").encode, "ttl"),
    "rdf": (RDF_XML.encode, "rdf"),
    "csv": (CSV.encode, "csv"),
    "tsv": (TSV.encode, "csv"),
    "facts": (TSV.encode, "csv"),
    "jsonl": (JSON.encode, "jsonl"),
    "parquet": (_parquet, ""),
    "orc": (_orc, ""),
}
PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "nt.gz": ("nt", gzip.compress),
    "csv.bz2": ("csv", bz2.compress),
    "ttl.zst": ("ttl", _zstd),
    "rdf.gz": ("rdf", gzip.compress),
    "parquet.gz": ("parquet", gzip.compress),
}
FORMATS = (*PLAIN, *PACKED)


@cache
def sound(name: str) -> bytes:
    """Return a file of the format in which nothing is wrong."""
    if name in PACKED:
        inner, pack = PACKED[name]
        return pack(sound(inner))
    return PLAIN[name][0]()


def mutated(name: str, number: int) -> bytes:
    """Return the file of a case."""
    rng = random.Random(f"{name} {number}")
    if name in PACKED and rng.random() < 0.3:  # what is wrong is inside
        inner, pack = PACKED[name]
        return pack(mutated(inner, number))
    data = bytearray(sound(name))
    tokens = TOKENS.get(PLAIN[name][1], []) if name in PLAIN else []
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        mutate(data, rng, tokens)
    return bytes(data)


def mutate(data: bytearray, rng: random.Random, tokens: list[str]) -> None:
    """Change some bytes, or put a token among them."""
    at = rng.randrange(len(data) + 1)
    size = rng.choice([1, 1, 2, 4, 16, 64])
    kind = rng.randrange(8)
    if kind == 0 and data:
        data[at % len(data)] ^= 1 << rng.randrange(8)
    elif kind == 1 and data:
        data[at % len(data)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3:
        data[at:at] = rng.choice(BYTES) * rng.choice([1, 1, 3])
    elif kind == 4:
        data[at:at] = data[at : at + size] * rng.choice([1, 2, 50])
    elif kind == 5:
        other = rng.randrange(len(data) + 1)
        data[at : at + size] = data[other : other + size]
    elif kind == 6:
        del data[at:]
    else:
        data[at:at] = (rng.choice(tokens).encode() if tokens else rng.randbytes(size)) * rng.choice(
            [1, 1, 1, 20]
        )


def read(path: Path, name: str, on_bad_input: str, *, header: bool) -> tuple[list[object], int]:
    """Return the facts that this reader finds, in order, and the number of bad lines."""
    dictionary, report = Dictionary(), ReadReport()
    options = ReadOptions(header=header, on_bad_input=on_bad_input)
    if name == "orc":  # read by Spark's workers, with this function
        found = EncodedFacts(report)
        context = Context(Vocabulary(DECLARED, {}, ()), dictionary, report, options)
        for block in table_blocks(DataFile(str(path), "orc", "d"), context):
            add_block(found, block, dictionary)
    else:
        found = read_paths(
            [path], declarations=DECLARED, dictionary=dictionary, report=report, options=options
        )
    facts: list[object] = []
    for predicate in found.predicates():
        columns = [map(str, dictionary.decode(column)) for column in found.columns(predicate)]
        facts += [(predicate, *row) for row in zip(*columns, strict=True)]
    return facts, report.bad_lines


def check(folder: Path, name: str, number: int) -> str:
    """Read the file of a case in all ways, and return "read" or the code of the error."""
    rng = random.Random(number)
    path = folder / f"d.{name}"
    path.write_bytes(mutated(name, number))
    header = rng.random() < 0.3
    outcome, facts = "read", None
    try:
        facts, bad = read(path, name, "error", header=header)
        assert not bad
    except StratalogError as error:
        outcome = error.code
        check_error(error)
    kept = None
    try:
        kept, _ = read(path, name, "skip", header=header)
    except StratalogError as error:
        check_error(error)
    assert facts is None or kept == facts, "skipping bad lines changes what a sound file gives"
    if number % 20 == 0 and name != "orc":
        _check_whole(path, facts)
    return outcome


def _check_whole(path: Path, facts: list[object] | None) -> None:
    """Materialise the file as users do; every fact can be listed."""
    try:
        kb = sl.materialise(PROGRAM, path, on_bad_input="skip", engine="columnar", progress=False)
    except StratalogError as error:
        check_error(error)
        return
    listed = sum(kb.facts(name).num_rows for name in kb.predicates())
    assert facts is None or listed <= len(facts)


def check_error(error: StratalogError) -> None:
    """Check that a user can act on an error, and that it is no mistake of ours."""
    assert error.code[0] in "DSE", error
    assert error.help or error.code == "D104", error


def run(first: int, last: int, formats: Iterable[str] = FORMATS) -> dict[str, int]:
    """Check the cases from `first` to before `last` of each format; return how many ended how."""
    ends: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in formats:
            sound(each)
            for number in range(first, last):
                with (
                    watched(writable=[folder]) as seen,
                    no_hang(),
                    named("tests.fuzz.file_cases", each, number),
                ):
                    end = check(folder, each, number)
                    assert not seen, seen
                ends[end] = ends.get(end, 0) + 1
    return ends


@contextmanager
def named(module: str, name: str, number: int) -> Iterator[None]:
    """Note in whatever a case raises how it is run again."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: python -m {module} {name} {number} {number + 1}")
        raise


@contextmanager
def no_hang() -> Iterator[None]:
    """End a case that takes for ever; a loop that does not listen ends the process."""

    def stop(*_: object) -> None:
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Run the cases that the command line names."""
    name, first, last = sys.argv[1:4]
    formats = FORMATS if name == "all" else [name]
    for each in formats:
        print(each, run(int(first), int(last), [each]), flush=True)  # noqa: T201  # a command


if __name__ == "__main__":
    main()
