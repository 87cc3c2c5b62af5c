"""The W3C's test suites for RDF 1.1 syntaxes: right documents are read, wrong ones refused."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox
import pytest

from stratalog.errors import DataError
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, LANG, Term
from stratalog.lang.values.terms import literal
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.local import ReadOptions
from stratalog.pipeline.ntriples import NO_GRAPH
from stratalog.pipeline.rdf import read_rdf
from stratalog.pipeline.spark_read import read_spark
from tests.readers import read_both

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDFT = "http://www.w3.org/ns/rdftest#"
FORMATS = {
    "rdf-n-triples": "nt",
    "rdf-n-quads": "nq",
    "rdf-turtle": "ttl",
    "rdf-trig": "trig",
    "rdf-xml": "rdf",
}
WRONG: dict[str, set[str]] = {name: set() for name in FORMATS} | {
    # XML literals keep namespaces that they do not use, as they did before RDF 1.1.
    "rdf-xml": {"xml-canon-test001", "xml-canon-test002"},
}
"""Cases that the parser itself gets wrong."""

NAMED_BY_BLANK_NODES: dict[str, set[str]] = {name: set() for name in FORMATS} | {
    "rdf-n-quads": {f"nq-syntax-bnode-0{number}" for number in range(1, 7)},
    "rdf-trig": {
        "alternating_bnode_graphs",
        "anonymous_blank_node_graph",
        "labeled_blank_node_graph",
        "trig-kw-graph-06",
        "trig-kw-graph-07",
        "trig-syntax-minimal-whitespace-01",
    },
}
"""Cases with a graph whose name is a blank node, which cannot be a predicate (D107)."""


class Case(NamedTuple):
    name: str
    kind: str
    action: Path
    result: Path | None

    @property
    def is_negative(self) -> bool:
        return "Negative" in self.kind


@pytest.fixture(scope="module")
def suites(shared_data, tmp_path_factory) -> Path:
    archive = shared_data / "w3c" / "rdf11-syntax-tests.tar.gz"
    if not archive.exists():
        pytest.skip(f"needs {archive}")
    folder = tmp_path_factory.mktemp("w3c")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder


def cases_of(folder: Path) -> tuple[list[Case], str]:
    """Return the cases of a suite, and the IRI that its files are taken to have."""
    manifest = ox.Store()
    manifest.load(
        path=str(folder / "manifest.ttl"),
        format=ox.RdfFormat.TURTLE,
        base_iri=folder.as_uri() + "/",
    )

    def one(subject, predicate):
        found = list(manifest.quads_for_pattern(subject, ox.NamedNode(predicate), None, None))
        return found[0].object if found else None

    cases = []
    for quad in manifest.quads_for_pattern(None, ox.NamedNode(MF + "action"), None, None):
        kind = next(
            q.object.value
            for q in manifest.quads_for_pattern(quad.subject, ox.NamedNode(TYPE), None, None)
        )
        result = one(quad.subject, MF + "result")
        cases.append(
            Case(
                one(quad.subject, MF + "name").value,
                kind.removeprefix(RDFT),
                local(quad.object),
                result and local(result),
            )
        )
    base = one(None, MF + "assumedTestBase")  # the line formats have no relative IRIs
    return sorted(cases), base.value if base else ""


TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def local(node: ox.NamedNode) -> Path:
    return Path(node.value.removeprefix("file://"))


def read(case: Case, data_format: str, graphs: str) -> ox.Dataset:
    dictionary = Dictionary()
    found = ox.Dataset()
    blocks = read_rdf(str(case.action), data_format, dictionary, graphs=graphs, report=ReadReport())
    for quads in list(blocks):
        columns = [[term_to_ox(t) for t in dictionary.decode(each)] for each in quads[:3]]
        named = [ox.DefaultGraph()] * quads.s.size
        if quads.g is not None:
            named = [
                ox.DefaultGraph() if g == NO_GRAPH else term_to_ox(dictionary.decode([g])[0])
                for g in quads.g
            ]
        for quad in zip(*columns, named, strict=True):
            found.add(ox.Quad(*quad))
    return found


def term_to_ox(term: Term):
    if term.kind == IRI_KIND:
        return ox.NamedNode(term.text)
    if term.kind == BNODE_KIND:
        return ox.BlankNode(term.text)
    if term.kind.startswith(LANG):
        return ox.Literal(term.text, language=term.kind.removeprefix(LANG))
    return ox.Literal(term.text, datatype=ox.NamedNode(term.kind))


def expected(case: Case, data_format: str) -> ox.Dataset:
    """Return the result of a case, its literals in canonical spelling."""
    text = case.result.read_bytes()
    quads_format = ox.RdfFormat.N_QUADS if data_format in ("nq", "trig") else ox.RdfFormat.N_TRIPLES
    found = ox.Dataset()
    for quad in ox.parse(text, format=quads_format):
        graph = getattr(quad, "graph_name", ox.DefaultGraph())
        found.add(ox.Quad(quad.subject, quad.predicate, canonical(quad.object), graph))
    return found


def canonical(term):
    if not isinstance(term, ox.Literal):
        return term
    spelled = literal(term.value, None if term.language else term.datatype.value, term.language)
    return term_to_ox(spelled)


def moved(dataset: ox.Dataset, folder: Path, base: str) -> ox.Dataset:
    """Return the statements as if the folder were at `base`."""

    def move(term):
        if isinstance(term, ox.NamedNode):
            return ox.NamedNode(term.value.replace(folder.as_uri() + "/", base))
        return term

    found = ox.Dataset()
    for quad in dataset:
        parts = (quad.subject, quad.predicate, quad.object, quad.graph_name)
        found.add(ox.Quad(*(move(part) for part in parts)))
    return found


def same(one: ox.Dataset, other: ox.Dataset, graphs: str) -> bool:
    """Tell whether both are equal but for the names of blank nodes."""
    sides = [one, other]
    if graphs == "drop":
        sides = [ox.Dataset(ox.Quad(*quad.triple) for quad in each) for each in sides]
    for each in sides:
        each.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(sides[0]) == set(sides[1])


def judge(case: Case, data_format: str, base: str, folder: Path) -> str:
    """Return "right", "wrong", or "unnamed" if a graph's name is a blank node (D107)."""
    graphs = "keep"
    try:
        found = read(case, data_format, graphs)
    except DataError as error:
        if error.code != "D107":
            return "right" if case.is_negative else "wrong"
        graphs = "drop"
        found = read(case, data_format, graphs)
    wanted = expected(case, data_format) if case.result else None
    if case.is_negative:
        return "wrong"
    if wanted is not None and not same(moved(found, folder, base), wanted, graphs):
        return "wrong"
    return "right" if graphs == "keep" else "unnamed"


@pytest.mark.parametrize("suite", FORMATS)
def test_all_cases_but_those_that_the_parser_gets_wrong(suites, suite):
    folder = suites / suite
    cases, base = cases_of(folder)
    assert len(cases) > 50
    found = {case.name: judge(case, FORMATS[suite], base, folder) for case in cases}
    assert {name for name, verdict in found.items() if verdict == "wrong"} == WRONG[suite]
    unnamed = {name for name, verdict in found.items() if verdict == "unnamed"}
    assert unnamed == NAMED_BY_BLANK_NODES[suite]


@pytest.mark.spark
def test_line_formats_on_spark(spark, suites):
    """Right cases give what the local reader gives; each wrong one has a line that is rejected."""
    for suite in ("rdf-n-triples", "rdf-n-quads"):
        cases, _ = cases_of(suites / suite)
        right = [str(case.action) for case in cases if not case.is_negative]
        read_both(spark, right, 100)
        wrong = {str(c.action) for c in cases if c.is_negative and c.name not in WRONG[suite]}
        options = ReadOptions(on_bad_input="skip")
        found = read_spark(spark, sorted(wrong), dictionary=Dictionary(), options=options)
        assert {path for path, _, _ in found.report.rejected} == wrong
