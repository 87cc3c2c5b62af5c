"""RDF/XML entities are read as long as they stay small, however the document is cut."""

from __future__ import annotations

import gzip
import io

import pyoxigraph as ox
import pytest

from stratalog.errors import DataError
from stratalog.pipeline import entities, rdf
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.entities import BoundedEntities
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.ntriples import LineReader
from stratalog.pipeline.rdf import read_rdf

BODY = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
    '<rdf:Description rdf:about="http://e/a"><e:p>%s</e:p></rdf:Description>%s</rdf:RDF>'
)
LONG = "x" * 60_000


def document(declared: str, used: str, more: str = "", before: str = "") -> bytes:
    return f"{before}<!DOCTYPE r [\n{declared}]>\n{BODY % (used, more)}".encode()


class Pieces(io.BytesIO):
    """Gives a few bytes at a time, so that everything is cut somewhere."""

    size = 3

    def read(self, size=-1):
        return super().read(min(size, self.size) if size >= 0 else self.size)


def values(content: bytes, size: int = 1 << 20) -> list[str]:
    stream = Pieces(content)
    stream.size = size
    source = BoundedEntities(stream, "a.rdf")
    parsed = ox.parse(source, format=ox.RdfFormat.RDF_XML, base_iri="http://e/")
    return [quad.object.value for quad in parsed]


REFUSED = [
    (document('<!ENTITY a "x">\n<!ENTITY b "&a;&a;">', "&b;"), "another entity", 3),
    (document('<!-- <!ENTITY a "&b;"> -->', "k"), "another entity", 2),
    (document('<!ENTITY a "&b;">', "k", before="<!-- \n --><?x y?>\n"), "another entity", 4),
    ((BODY % ("k", '<!DOCTYPE r [<!ENTITY a "&b;">]>')).encode(), "another entity", 2),
    (document('<!ENTITY % a "x">', "k"), "parameter", 2),
    (document('<!ENTITY % a SYSTEM "http://e/d.dtd">', "k"), "parameter", 2),
    (document('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"), "outside", 2),
    (document(f'<!ENTITY a "{LONG}{LONG}">', "&a;"), "too long", 2),
    (document(f'<!ENTITY {"n" * 300} "x">', "k"), "too long", 2),
    (document('<!ENTITY a#b "x">', "&a#b;"), "wrong", 2),
]


@pytest.mark.parametrize(("content", "reason", "line"), REFUSED)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_entities_that_could_grow_or_lie_elsewhere_are_refused(content, reason, line, size):
    if size == 1 and len(content) > 10_000:
        size = 1000
    with pytest.raises(DataError, match=reason) as caught:
        values(content, size)
    assert (caught.value.code, caught.value.path, caught.value.line) == ("D111", "a.rdf", line)
    assert caught.value.help


@pytest.mark.parametrize("size", [1, 2, 50, 1 << 20])
def test_plain_entities_are_read_in_texts_and_attributes(size):
    declared = '<!ENTITY o "http://o/#">\n<!ENTITY amper "a &amp; &#98;">'
    more = '<rdf:Description rdf:about="&o;b" e:p="&o;c"/>'
    assert values(document(declared, "&amper; &lt;", more), size) == ["a & b <", "http://o/#c"]


def test_one_large_entity_used_often_is_refused_before_it_has_grown():
    grown = entities.FREE_EXPANSION // len(LONG)
    declared = f'<!ENTITY a "{LONG}">'
    assert len(values(document(declared, "&a;" * (grown - 10)))) == 1
    for size in (1000, 1 << 20):
        with pytest.raises(DataError, match="grow too much"):
            values(document(declared, "&a;" * (grown + 100)), size)


def test_many_references_to_short_entities_have_no_limit(monkeypatch):
    monkeypatch.setattr(entities, "FREE_EXPANSION", 100)
    more = "".join(f'<rdf:Description rdf:about="&o;{i}" e:p="&o;x"/>' for i in range(2000))
    found = values(document('<!ENTITY o "http://www.w3.org/2002/07/owl#">', "k", more))
    assert len(found) == 2001


@pytest.mark.parametrize("name", ["a.rdf", "a.owl", "a.rdf.gz", "a.owl.gz"])
@pytest.mark.parametrize("on_bad_input", ["error", "skip"])
def test_files_are_refused_whether_bad_input_is_skipped_or_not(tmp_path, name, on_bad_input):
    content = document('<!ENTITY a "x"><!ENTITY b "&a;">', "&b;")
    file = tmp_path / name
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(DataError, match="D111"):
        list(read_rdf(
            str(file), "rdf", Dictionary(), on_bad_input=on_bad_input, report=ReadReport()
        ))  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_documents_in_other_encodings_are_told_to_be_converted(encoding):
    with pytest.raises(DataError, match="D102") as caught:
        values((BODY % ("k", "")).encode(encoding))
    assert "iconv" in caught.value.help


def test_statements_that_a_prefix_makes_long_are_handed_on_in_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(rdf, "BYTES_PER_CALL", 1 << 16)
    sizes = []
    read = LineReader.read

    def noted(self, data):
        sizes.append(len(data))
        return read(self, data)

    monkeypatch.setattr(LineReader, "read", noted)
    file = tmp_path / "a.ttl"
    lines = "".join(f"p:a{i} p:b p:c .\n" for i in range(1000))
    file.write_text(f"@prefix p: <http://e/{'x' * 1000}> .\n{lines}")
    blocks = list(read_rdf(str(file), "ttl", Dictionary(), report=ReadReport()))
    assert sum(block.s.size for block in blocks) == 1000
    assert max(sizes) < 4 * (1 << 16)
