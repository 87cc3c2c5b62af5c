"""Published rule sets, kept beside the project in ../shared/data: read, checked and printed."""

import time
from pathlib import Path

import pytest

from stratalog.errors import ProgramError
from stratalog.lang.check import check
from stratalog.lang.parse import parse_file, parse_program
from stratalog.lang.printer import show

RULES = Path(__file__).parents[4] / "shared" / "data" / "rules"
pytestmark = pytest.mark.skipif(not RULES.is_dir(), reason=f"needs {RULES}")

COUNTS = {
    "LUBM_L": 98,
    "LUBM_LE": 107,
    "LUBM_U": 122,
    "Claros_L.core": 1312,
    "Claros_LE.core": 1339,
    "Claros_L.axiomatised": 2174,
    "Claros_LE.axiomatised": 2223,
    "DBpedia_L.core": 3384,
    "DBpedia_L.axiomatised": 7258,
    "UOBM_L.core": 210,
    "UOBM_L.axiomatised": 407,
    "skos": 41,
    "relations-ro2022": 1194,
    "go-relations": 22,
    "codex-cyclic": 19,
    "debian": 10,
}
ORIGINALS = sorted([*RULES.glob("vlog-aaai2016/*.dlog"), *RULES.glob("vlog-*.rules")])


def test_no_published_rule_set_is_forgotten():
    assert {path.stem for path in RULES.glob("*.dlog")} == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_a_published_rule_set_is_read_checked_and_printed(name):
    program = parse_file(RULES / f"{name}.dlog")
    assert len(program.rules) == COUNTS[name]
    assert program.facts == ()
    assert check(program) == []
    assert parse_program(show(program)) == program


@pytest.mark.parametrize("path", ORIGINALS, ids=lambda path: path.name)
def test_an_original_with_bare_words_is_refused(path):
    with pytest.raises(ProgramError) as caught:
        parse_file(path)
    assert caught.value.code == "S110"
    assert 'write "A", <A> or ?A' in caught.value.help


def test_a_megabyte_of_rules_takes_seconds():
    start = time.process_time()
    parse_file(RULES / "DBpedia_L.axiomatised.dlog")
    assert time.process_time() - start < 10  # about 1.3 on an idle machine
