"""RDF files become facts: the scanner agrees with the full parser, and mistakes name their line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stratalog.errors import DataError
from stratalog.kernels.terms import scan
from stratalog.lang.terms import INTEGER, IRI_KIND, RDF_TYPE, STRING, XSD, Term
from stratalog.pipeline import ntriples, rdf
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.ntriples import NO_GRAPH, Quads, join_quads, parse_ntriples
from stratalog.pipeline.oddlines import Reading, term_of
from stratalog.pipeline.rdf import group_quads, read_rdf

DATA = Path(__file__).parents[4] / "shared" / "data"


def iri(text):
    return Term(IRI_KIND, text)


def read(path, data_format="nt", **options):
    """Return the statements of a file as tuples of terms, and the report."""
    dictionary, report = Dictionary(), options.pop("report", None) or ReadReport()
    parts = list(read_rdf(str(path), data_format, dictionary, report=report, **options))
    return decoded(join_quads(parts), dictionary), report


def decoded(quads: Quads, dictionary: Dictionary):
    columns = [dictionary.decode(column) for column in quads[:3]]
    if quads.g is not None:
        graphs = [None if g == NO_GRAPH else dictionary.decode([g])[0] for g in quads.g]
        columns.append(graphs)
    return list(zip(*columns, strict=True))


def read_text(text, data_format="nt", **options):
    data = text if isinstance(text, bytes) else text.encode()
    dictionary, report = Dictionary(), ReadReport()
    reading = Reading("x." + data_format, data_format, **options)
    return decoded(parse_ntriples(data, dictionary, reading, report), dictionary), report


def expected_of(line: bytes):
    """Return what the complete parser makes of a line, None if it refuses."""
    try:
        quads = list(ox.parse(line, format=ox.RdfFormat.N_QUADS))
        return [
            (
                *(term_of(term) for term in (quad.subject, quad.predicate, quad.object)),
                None if isinstance(quad.graph_name, ox.DefaultGraph) else term_of(quad.graph_name),
            )
            for quad in quads
        ]
    except Exception:  # noqa: BLE001  # any refusal is one
        return None


SEEDS = [
    "<http://a/b?c=d#e> <http://p> <http://a:80/x> .",
    '_:a.b <http://p> "x\\n\\"y"@en-GB .',
    '<http://é.org/ü%20> <p:q> "né\u2028\U0001f600"^^<http://www.w3.org/2001/XMLSchema#int> . # é',
    "<a:b><c:d>_:x.y. ",
    '<http://u@h:1/p> <http://[::1]/> "a\tb"@zh-Hans-CN .',
    '<http://a> <http://b> "\\u00e9\\U0001F600" <http://g> .',
    "<file:///a/b> <x:/y//z> <http://a//b:c@d> _:g .",
    '<http://a> <http://b> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .',
]
PIECES = list("<>\"\\.:/#?%@_- \t\r[]{}|^`aX09~!'\x00\x7f\x80é\u00a0\u0085\ue000\ufdd0\U0001fffe")
PIECES += ["%41", "\\u", "\\n", '\\"', "//", "^^", "@en", "@en-us", "_:", ".."]


@st.composite
def mutated_lines(draw):
    line = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        end = min(len(line), at + draw(st.integers(0, 2)))
        line = line[:at] + draw(st.sampled_from([*PIECES, ""])) + line[end:]
    return line.encode()


@settings(max_examples=300, deadline=None)
@given(mutated_lines())
@example(b'<http://a> <http://b> "\xed\xa0\x80" .')
@example(b'<http://a> <http://b> "\xf4\x90\x80\x80" .')
@example(b'<http://a> <http://b> "\xc3')
@example(b"<http://a> <http://b> _:a.. ")
@example(b"<http://a%")
def test_the_reader_means_what_the_complete_parser_means(line):
    expected = expected_of(line)
    if expected and any(graph and graph.kind == "bnode" for *_, graph in expected):
        expected = None
    try:
        found, _ = read_text(line, "nq", graphs="keep")
    except DataError:
        found = None
    if not line.lstrip(b" \t").startswith(b'"'):  # a subject that only we read
        assert found == expected


def test_plain_lines_never_need_the_complete_parser(monkeypatch):
    def refuse(*_):
        raise AssertionError("an ordinary line was not recognised")

    monkeypatch.setattr(ntriples, "read_odd_lines", refuse)
    for line in SEEDS[:4]:
        assert len(read_text(line, "nq")[0]) == 1
    assert read_text("\n  \n# comment é\r\n\t# more\n")[0] == []


def test_equal_values_are_one_term_and_other_literals_stay_as_written():
    lines = "".join(
        f"<a:s> <a:p> {value} .\n"
        for value in (
            f'"01"^^<{INTEGER}>',
            f'"1"^^<{INTEGER}>',
            f'"x1"^^<{INTEGER}>',
            f'"1"^^<{STRING}>',
            '"1"',
            '"01"^^<a:t>',
            '"a"@EN-gb',
            '"a"@en-GB',
            f'"1.50"^^<{XSD}decimal>',
        )
    )
    found, _ = read_text(lines)
    assert [statement[2] for statement in found] == [
        Term(INTEGER, "1"),
        Term(INTEGER, "1"),
        Term(INTEGER, "x1"),
        Term(STRING, "1"),
        Term(STRING, "1"),
        Term("a:t", "01"),
        Term("@en-gb", "a"),
        Term("@en-gb", "a"),
        Term(XSD + "decimal", "1.5"),
    ]


def test_literals_are_remembered_across_calls_and_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(ntriples, "ROWS_PER_CALL", 7)
    monkeypatch.setattr(ntriples, "MOST_SPELLINGS", 20)
    lines = "".join(f'<a:s> <a:p> "0{i % 50}"^^<{INTEGER}> .\n' for i in range(300))
    found, report = read_text(lines)
    assert [int(statement[2].text) for statement in found] == [i % 50 for i in range(300)]
    assert report.rows == 300


def test_escapes_are_replaced_by_either_reader():
    line = '<a:s> <a:p> "\\t\\b\\n\\r\\f\\"\\\'\\\\ é{}" .'
    plain = "\t\b\n\r\f\"'\\ é"
    assert read_text(line.format(""))[0][0][2] == Term(STRING, plain)
    assert read_text(line.format("\\u00e9"))[0][0][2] == Term(STRING, plain + "é")


def test_a_literal_may_be_a_subject():
    text = (
        f'"01"^^<{INTEGER}> <a:p> "x" .\n'
        '  "a \\" \\u00e9"@en <a:p> <a:o> . # comment\n'
        f'"b"<{RDF_TYPE.text}><a:C>.\n'
    )
    found, _ = read_text(text)
    assert [statement[0] for statement in found] == [
        Term(INTEGER, "1"),
        Term("@en", 'a " é'),
        Term(STRING, "b"),
    ]
    assert found[2][1:] == (RDF_TYPE, iri("a:C"))
    quads, _ = read_text('"b" <a:p> <a:o> <a:g> .\n', "nq", graphs="keep")
    assert quads == [(Term(STRING, "b"), iri("a:p"), iri("a:o"), iri("a:g"))]
    for bad in ('"b" "p" <a:o> .', '"b"@@ <a:p> <a:o> .', '"b" <a:p> <a:o>'):
        with pytest.raises(DataError, match="D101"):
            read_text(bad)


@pytest.mark.parametrize("chunk", [1, 16 << 20])
def test_a_bad_line_is_an_error_with_its_place(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(rdf, "read_chunks", lambda s: ntriples_chunks(s, chunk))
    file = tmp_path / "a.nt"
    good = b"<a:s> <a:p> <a:o> .\r\n# comment\n\n"
    file.write_bytes(good * 5_000 + b"<a:s> <a:p> <relative> .\n" + good)
    with pytest.raises(DataError, match="D101: No scheme found in an absolute IRI") as caught:
        read(file)
    assert (caught.value.path, caught.value.line) == (str(file), 15_001)
    assert caught.value.source == "<a:s> <a:p> <relative> ."


def ntriples_chunks(stream, size):
    from stratalog.pipeline.files import read_chunks

    return read_chunks(stream, size)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'<a:s> <a:p> "\xff" .', "D102"),
        (b'<a:s> <a:p> "x"@en--ltr .', "D103"),
        (b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", "D103"),
        (b"<a:s> <a:p> <a:o> . <a:s> <a:p> <a:o> .", "D101"),
        (b"\xef\xbb\xbf<a:s> <a:p> <a:o> .", "D101"),
        (b"nonsense", "D101"),
    ],
)
def test_every_kind_of_bad_line_is_told_or_skipped(line, code):
    text = b"<a:s> <a:p> <a:o> .\n" + line + b"\n<a:s> <a:p> <a:o2> ."
    with pytest.raises(DataError, match=code) as caught:
        read_text(text)
    assert caught.value.line == 2
    assert caught.value.help
    found, report = read_text(text, on_bad_input="skip")
    assert len(found) == 2
    assert (report.bad_lines, report.rows) == (1, 2)
    assert report.rejected == [("x.nt", 2, line.decode(errors="backslashreplace"))]


def test_line_ends_of_all_systems_are_read():
    line = "<a:s> <a:p> <a:o> ."
    for text in (line, line + "\n", line + "\r\n", line + " # c\r\n", line + "\r" + line + "\r"):
        assert set(read_text(text)[0]) == {(iri("a:s"), iri("a:p"), iri("a:o"))}


def test_very_long_lines_are_read(tmp_path):
    file = tmp_path / "a.nt"
    long = "é" * (5 << 20)
    file.write_text(f'<a:s> <a:p> "{long}" .\n<a:s> <a:p> "\\u00e9{long}" .', encoding="utf-8")
    found, report = read(file)
    assert [len(statement[2].text) for statement in found] == [5 << 20, (5 << 20) + 1]
    assert report.bytes == file.stat().st_size


QUADS = """<a:s> <a:p> <a:o> <a:g> .
<a:s> <a:p> <a:o> .
<a:s> <a:p> "\\u00e9" <a:g\\u00e9> .
"""


def test_graph_names_are_dropped_and_counted_or_kept(tmp_path):
    file = tmp_path / "a.nq"
    file.write_text(QUADS)
    found, report = read(file, "nq")
    assert len(found[0]) == 3
    assert (report.graphs_dropped, report.rows) == (2, 3)
    found, report = read(file, "nq", graphs="keep")
    assert [graph for *_, graph in found] == [iri("a:g"), None, iri("a:gé")]
    assert report.graphs_dropped == 0


def test_a_graph_named_by_a_blank_node_cannot_be_kept():
    line = "<a:s> <a:p> <a:o> _:g ."
    with pytest.raises(DataError, match="D107"):
        read_text(line, "nq", graphs="keep")
    assert read_text(line, "nq")[1].graphs_dropped == 1


def test_triples_are_facts_of_classes_and_properties(tmp_path):
    file = tmp_path / "a.nq"
    kind = RDF_TYPE.text
    file.write_text(
        f"<a:x> <{kind}> <a:C> .\n<a:y> <{kind}> <a:C> .\n<a:x> <{kind}> _:b .\n"
        '<a:x> <a:p> <a:y> .\n<a:x> <a:p> "1" .\n<a:x> <a:C> <a:x> .\n'
        f"<a:x> <{kind}> <a:C> <a:g> .\n"
    )
    dictionary = Dictionary()
    parts = read_rdf(str(file), "nq", dictionary, graphs="keep", report=ReadReport())
    facts = {
        predicate: list(zip(*(dictionary.texts(c).to_pylist() for c in columns), strict=True))
        for quads in parts
        for predicate, columns in group_quads(quads, dictionary).items()
    }
    assert facts == {
        ("<a:C>", 1): [("a:x",), ("a:y",)],
        ("<a:C>", 2): [("a:x", "a:x")],
        ("<a:p>", 2): [("a:x", "a:y"), ("a:x", "1")],
        (f"<{kind}>", 2): [("a:x", "b")],
        ("<a:g>", 3): [("a:x", kind, "a:C")],
    }


TURTLE = """@prefix : <a:> .
:x :p [ :q _:lab ], "01"^^<http://www.w3.org/2001/XMLSchema#integer>, <rel> .
_:lab :p () , ( 1 true ) .
"""


def test_blank_nodes_of_documents_are_their_own_and_the_same_each_time(tmp_path):
    one, two = tmp_path / "one.ttl", tmp_path / "two.ttl"
    one.write_text(TURTLE)
    two.write_text(TURTLE)
    first, _ = read(one, "ttl")
    assert first == read(one, "ttl")[0]

    def nodes(statements):
        return {term.text for row in statements for term in row if term.kind == "bnode"}

    labels = nodes(first)
    assert labels.isdisjoint(nodes(read(two, "ttl")[0]))
    assert sorted(label[9:] for label in labels) == ["-1", "-2", "-3", "_lab"]
    objects = {statement[2] for statement in first}
    assert {Term(INTEGER, "1"), Term(XSD + "boolean", "true")} <= objects
    assert iri((tmp_path / "rel").as_uri()) in objects


RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="a:">
<rdf:Description rdf:about="#s"><a:p rdf:nodeID="b"/><a:p>é</a:p></rdf:Description>
</rdf:RDF>"""


def test_labels_of_lines_are_kept():
    assert read_text("_:x <a:p> _:y.z .\n")[0] == [
        (Term("bnode", "x"), iri("a:p"), Term("bnode", "y.z"))
    ]


@pytest.mark.parametrize(
    ("data_format", "text"),
    [
        ("trig", "@prefix : <a:> . :g { :s :p _:b } :s :p _:b ."),
        (
            "rdf",
            RDF_XML,
        ),
    ],
)
def test_trig_and_rdf_xml_are_read(tmp_path, data_format, text):
    file = tmp_path / f"a.{data_format}"
    file.write_text(text, encoding="utf-8")
    found, report = read(file, data_format)
    assert len(found) == 2
    assert all(statement[1] == iri("a:p") for statement in found)
    assert report.graphs_dropped == (data_format == "trig")
    assert report.bytes == file.stat().st_size


def test_a_bad_document_is_an_error_with_its_line_or_skipped(tmp_path):
    file = tmp_path / "a.ttl"
    file.write_text("@prefix : <a:> .\n:a :b :c .\n:a :b @@ .\n:d :e :f .\n")
    with pytest.raises(DataError, match="D101") as caught:
        read(file, "ttl")
    assert (caught.value.path, caught.value.line) == (str(file), 3)
    found, report = read(file, "ttl", on_bad_input="skip")
    assert {statement[0] for statement in found} == {iri("a:a"), iri("a:d")}
    assert report.bad_lines >= 1
    assert report.samples[0].line == 3


def test_what_rdf_1_2_adds_to_documents_is_refused(tmp_path):
    file = tmp_path / "a.ttl"
    file.write_text("@prefix : <a:> .\n:a :b <<( :a :b :c )>> .\n")
    with pytest.raises(DataError, match="D103"):
        read(file, "ttl")


def test_a_document_that_is_damaged_on_disk_says_so(tmp_path):
    file = tmp_path / "a.ttl.gz"
    file.write_bytes(gzip.compress(TURTLE.encode())[:-9])
    with pytest.raises(DataError, match="D104"):
        read(file, "ttl")


def test_invalid_utf_8_in_a_document_is_told(tmp_path):
    file = tmp_path / "a.ttl"
    file.write_bytes(b'<a:s> <a:p> "\xff" .')
    with pytest.raises(DataError, match="D102"):
        read(file, "ttl")


def test_the_scanner_stops_when_there_is_no_room(monkeypatch):
    monkeypatch.setattr(ntriples, "ROWS_PER_CALL", 3)
    monkeypatch.setattr(ntriples, "ODD_LINES_PER_CALL", 2)
    lines = "".join(
        f'<a:s> <a:p> "{i}" .\n' if i % 3 else f'<a:s> <a:p> "\\u0041{i}" .\n\n' for i in range(50)
    )
    found, _ = read_text(lines)
    assert {statement[2].text.lstrip("A") for statement in found} == {str(i) for i in range(50)}
    assert scan.NO_GRAPH < 0


COUNTS = (
    re.findall(r"^\| (\S+\.(?:nt|owl)\.gz|\S+\.nq) \| [^|]* \| ([\d,]+)", text, re.MULTILINE)
    if DATA.exists() and (text := (DATA / "README.md").read_text())
    else []
)


@pytest.mark.skipif(not COUNTS, reason="the benchmark data is not beside the project")
@pytest.mark.parametrize(("name", "count"), COUNTS, ids=[name for name, _ in COUNTS])
def test_benchmark_files_have_the_stated_number_of_facts(name, count):
    dictionary, report, facts = Dictionary(), ReadReport(), 0
    data_format = "rdf" if ".owl" in name else name.split(".")[-2 if name.endswith("gz") else -1]
    for quads in read_rdf(str(DATA / name), data_format, dictionary, report=report):
        for columns in group_quads(quads, dictionary).values():
            facts += columns[0].size
    assert facts == report.rows == int(count.replace(",", ""))


@pytest.mark.slow
@pytest.mark.skipif(not COUNTS, reason="the benchmark data is not beside the project")
@pytest.mark.parametrize("name", ["skos/stw-9.06.nt.gz", "museum/wam.crm-owl.nt.gz"])
def test_benchmark_files_are_read_as_the_complete_parser_reads_them(name):
    found, _ = read(DATA / name)
    with gzip.open(DATA / name) as stream:
        plain = {
            (term_of(quad.subject), term_of(quad.predicate), term_of(quad.object))
            for quad in ox.parse(stream, format=ox.RdfFormat.N_TRIPLES)
        }
    assert set(found) == plain
