"""Reading RDF files, and the view of triples as facts.

N-Triples and N-Quads are read line by line. Turtle, TriG and RDF/XML are parsed statement by
statement and handed on as N-Quads, so that one reader makes numbers of terms, whatever the format.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

from stratalog.errors import DataError
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import RDF_TYPE
from stratalog.pipeline.dictionary import IRI_INDEX, Dictionary, Ids
from stratalog.pipeline.entities import BoundedEntities
from stratalog.pipeline.files import (
    CHUNK,
    BadLine,
    ByteStream,
    ReadReport,
    open_bytes,
    read_chunks,
    too_long,
)
from stratalog.pipeline.ntriples import NO_GRAPH, LineReader, Quads
from stratalog.pipeline.oddlines import Reading, parser_reason

LINE_FORMATS = frozenset({"nt", "nq"})
LONGEST_TERM = 16 << 20  # of Turtle and TriG, in the parser
BYTES_PER_CALL = CHUNK
QUADS_LOOKED_AT = 64
DOCUMENT_FORMATS = {
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "rdf": ox.RdfFormat.RDF_XML,
}
MOST_MISTAKES_IN_A_ROW = 1000  # then the parser is lost and the rest of the document is given up

_MADE_UP = re.compile(r"[a-f][0-9a-f]{15,31}")  # labels that the parser gives to unlabelled nodes


def read_rdf(
    path: str,
    data_format: str,
    dictionary: Dictionary,
    *,
    graphs: str = "drop",
    on_bad_input: str = "error",
    report: ReadReport,
) -> Iterator[Quads]:
    """Yield the statements of a file in blocks of bounded size, as numbers in `dictionary`.

    Labels of blank nodes are kept in N-Triples and N-Quads and made the file's own elsewhere. After
    an error the dictionary may hold terms of statements that were never yielded.
    """
    with open_bytes(path) as stream:
        yield from read_stream(
            stream, path, data_format, dictionary,
            graphs=graphs, on_bad_input=on_bad_input, report=report,
        )  # fmt: skip


def read_stream(  # as `read_rdf`, and where the bytes come from
    stream: ByteStream,
    path: str,
    data_format: str,
    dictionary: Dictionary,
    *,
    graphs: str = "drop",
    on_bad_input: str = "error",
    report: ReadReport,
) -> Iterator[Quads]:
    """Yield the statements of a stream that has the lines of the file, or some of them.

    Lines count from one at the beginning of the stream.
    """
    most = dictionary.max_digits
    if data_format in LINE_FORMATS:
        reading = Reading(path, data_format, graphs, on_bad_input, max_digits=most)
        yield from _read_lines(stream, LineReader(dictionary, reading, report), report)
    else:
        reading = Reading(path, "nq", graphs, on_bad_input, numbers_lines=False, max_digits=most)
        parser = parse_document(stream, data_format, path, on_bad_input, report)
        reader = LineReader(dictionary, reading, report, BlankLabels(path).rename)
        yield from _read_statements(parser, reader)
        report.bytes += stream.bytes_read


def _read_lines(stream: ByteStream, reader: LineReader, report: ReadReport) -> Iterator[Quads]:
    for data in read_chunks(stream):
        report.bytes += len(data)
        yield from reader.read(data)


def _read_statements(quads: Iterator[ox.Quad], reader: LineReader) -> Iterator[Quads]:
    while data := _lines_of(quads):
        yield from reader.read(data)


def _lines_of(quads: Iterator[ox.Quad]) -> bytes:
    """Return the next quads as lines, as many as fit: a prefix may make short statements long."""
    lines = io.BytesIO()
    ox.serialize(_until_full(quads, lines), lines, format=ox.RdfFormat.N_QUADS)
    return lines.getvalue()


def _until_full(quads: Iterator[ox.Quad], lines: io.BytesIO) -> Iterator[ox.Quad]:
    def some() -> list[ox.Quad]:
        return list(islice(quads, QUADS_LOOKED_AT)) if lines.tell() < BYTES_PER_CALL else []

    return chain.from_iterable(iter(some, []))


def parse_document(
    stream: ByteStream, data_format: str, path: str, on_bad_input: str, report: ReadReport
) -> Iterator[ox.Quad]:
    """Yield the statements of a Turtle, TriG or RDF/XML document; IRIs are relative to `path`."""
    base = Path(path).absolute().as_uri()
    source: Any = BoundedEntities(stream, path) if data_format == "rdf" else stream
    parser = ox.parse(source, format=DOCUMENT_FORMATS[data_format], base_iri=base)
    mistakes = 0
    while mistakes < MOST_MISTAKES_IN_A_ROW:
        try:
            quad = next(parser)
        except StopIteration:
            report.note_prefixes(parser.prefixes)
            return
        except MemoryError as error:
            if "maximal size" not in str(error):  # the parser's own limit for a term
                raise
            raise too_long(path, LONGEST_TERM) from None
        except SyntaxError as error:
            if on_bad_input != "skip":
                raise _bad_document(path, error) from None
            report.reject(BadLine(path, error.lineno, parser_reason(error), ""))
            mistakes += 1
        else:
            mistakes = 0
            yield quad


def _bad_document(path: str, error: SyntaxError) -> DataError:
    code = "D102" if "utf-8" in str(error).lower() else "D101"
    return DataError(
        code,
        parser_reason(error),
        path=path,
        line=error.lineno,
        column=error.offset,
        help="correct the file, or skip bad statements with --on-bad-input skip",
    )


class BlankLabels:
    """Names for a document's blank nodes that are its own, and the same each time it is read.

    A label written in the document is kept after the file's mark; unlabelled nodes are numbered in
    the order of their first appearance.
    """

    def __init__(self, path: str) -> None:
        digest = hashlib.sha256(os.path.normpath(path).encode("utf-8", "surrogateescape"))
        self._mark = "f" + digest.hexdigest()[:8]
        self._numbers: dict[str, int] = {}

    def rename(self, label: str) -> str:
        """Return the node's name outside the document."""
        if not _MADE_UP.fullmatch(label):
            return f"{self._mark}_{label}"
        return f"{self._mark}-{self._numbers.setdefault(label, len(self._numbers) + 1)}"


def group_triples(s: Ids, p: Ids, o: Ids, dictionary: Dictionary) -> dict[Predicate, list[Ids]]:
    """Return the facts that the triples stand for, as columns by predicate.

    `x rdf:type C` is `<C>(x)` if C is an IRI; any other `x P y` is `<P>(x, y)`.
    """
    type_id = int(dictionary.find([RDF_TYPE])[0])
    is_class = (p == type_id) & (dictionary.kind_ids[o] == IRI_INDEX)
    facts = _by_name(o[is_class], [s[is_class]], dictionary)
    others = ~is_class
    return facts | _by_name(p[others], [s[others], o[others]], dictionary)


def group_quads(quads: Quads, dictionary: Dictionary) -> dict[Predicate, list[Ids]]:
    """Return the facts of quads: `<g>(s, p, o)` in a named graph g, else those of the triple."""
    if quads.g is None:
        return group_triples(quads.s, quads.p, quads.o, dictionary)
    default = quads.g == NO_GRAPH
    columns = [quads.s, quads.p, quads.o]
    facts = group_triples(quads.s[default], quads.p[default], quads.o[default], dictionary)
    return facts | _by_name(quads.g[~default], [column[~default] for column in columns], dictionary)


def _by_name(names: Ids, columns: list[Ids], dictionary: Dictionary) -> dict[Predicate, list[Ids]]:
    """Return the rows of `columns` apart by the IRI in `names`, in their order."""
    if not names.size:
        return {}
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    pieces: list[Any] = [np.split(column[order], starts[1:]) for column in columns]
    iris = dictionary.texts(ordered[starts]).to_pylist()
    return {
        Predicate(f"<{iri}>", len(columns)): list(parts)
        for iri, *parts in zip(iris, *pieces, strict=True)
    }
