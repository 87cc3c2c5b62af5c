"""On real rule sets and data, every predicate has as many facts as nemo derives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import stratalog
from stratalog.lang.parse import parse_file
from stratalog.lang.syntax import Atom, Predicate, Program
from tests.naive import is_rdf
from tests.oracles import nemo_counts

pytest.importorskip("nmo_python")

MUSEUM = ("museum/cbm.crm-owl.nt.gz", "museum/wam.crm-owl.nt.gz")
DEBIAN = tuple(
    f"debian/{name}.tsv.gz" for name in ("conflicts", "depends", "package", "provides", "source")
)
CASES = [
    ("LUBM_L", "lubm/lubm-1-seed0.nt.gz"),
    ("LUBM_LE", "lubm/lubm-1-seed0.nt.gz"),
    ("LUBM_U", "lubm/lubm-1-seed0.nt.gz"),
    ("UOBM_L.core", "uobm/uobm-1-seed0.nt.gz"),
    ("skos", "skos/stw-9.06.nt.gz"),
    ("go-relations", "obo/so-edges.nt.gz"),
]
SLOW = [
    ("Claros_L.core", *MUSEUM),
    ("Claros_LE.core", *MUSEUM),
    ("Claros_L.axiomatised", *MUSEUM),
    ("Claros_LE.axiomatised", *MUSEUM),
    ("codex-cyclic", "kg/codex-m.nt.gz"),
    ("debian", *DEBIAN),
    ("DBpedia_L.core", "kg/dbpedia50.nt.gz"),
    ("DBpedia_L.axiomatised", "kg/dbpedia50.nt.gz"),
    ("LUBM_LE", "lubm/lubm-5-seed0.nt.gz"),
    ("UOBM_L.axiomatised", "uobm/uobm-1-seed0.nt.gz"),
    ("go-relations", "obo/go-2013-07-13-edges.nt.gz"),
    ("skos", "skos/wikipedia-cs-categories.nt.gz"),
]


@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)],
    ids=lambda case: f"{case[0]}-{Path(case[1]).name.partition('.')[0]}",
)
def test_counts_per_predicate_agree_with_nemo(shared_data: Path, case: tuple[str, ...]):
    rules = shared_data / "rules" / f"{case[0]}.dlog"
    compare(rules, parse_file(rules), [shared_data / name for name in case[1:]])


def test_counts_agree_with_nemo_on_made_data_for_the_relations_ontology(
    shared_data: Path, tmp_path: Path
):
    """No data set uses these 593 relations: facts are made, the same ones each time."""
    rules = shared_data / "rules" / "relations-ro2022.dlog"
    program = parse_file(rules)
    made = random.Random(0)
    lines = set()
    for predicate in sorted({p for p in predicates_of(program) if p.arity == 2}):
        a, b = (made.randrange(150) for _ in range(2))
        lines.add(f"<http://example.org/{a}> {predicate.name} <http://example.org/{b}> .\n")
    data = tmp_path / "made.nt"
    data.write_text("".join(sorted(lines)))
    compare(rules, program, [data])


def compare(rules: Path, program: Program, data: Sequence[Path]) -> None:
    expected = nemo_counts(program, data).facts
    kb = stratalog.materialise(rules, list(data), equality="off")
    found = {predicate: kb.count(predicate) for predicate in expected}
    assert found == expected
    assert any(found.values())


def predicates_of(program: Program) -> set[Predicate]:
    atoms = (atom for rule in program.rules for atom in (*rule.heads, *rule.body))
    return {atom.predicate for atom in atoms if isinstance(atom, Atom) and is_rdf(atom.predicate)}
