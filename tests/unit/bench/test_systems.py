"""Every system that is installed derives the same facts, as many as the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from stratalog.lang.parse import parse_program
from stratalog_bench.failures import BenchmarkError, Inexpressible
from stratalog_bench.generate.workload import Workload
from stratalog_bench.systems.registry import BY_NAME, system_class
from stratalog_bench.workloads.catalogue import ALL_SYSTEMS, BENCHMARKS, COMPARED
from stratalog_bench.workloads.inputs import make_input, read_input, write_input
from tests import naive

INSTALLED = [name for name in ALL_SYSTEMS if BY_NAME[name].is_installed]
GRAPH = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (4, 0)]
PROGRAMS = {
    "nonlinear": "p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), p(?y, ?z) .",
    "three recursive atoms": "e(?x, ?w) :- e(?x, ?y), e(?y, ?z), e(?z, ?w) .",
    "constants": "p(?x, 7) :- e(0, ?x) . q(?x) :- p(?x, 7), e(?x, 2) .",
    "repeated variables": "p(?x, ?x) :- e(?x, ?x) . q(?y) :- p(?y, ?y), e(?y, ?y) .",
    "mutual recursion": "p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- q(?x, ?y), e(?y, ?z) ."
    " q(?x, ?z) :- p(?x, ?y), e(?y, ?z) . q(?x, ?z) :- q(?x, ?y), p(?y, ?z) .",
    "no shared variable": "p(?x, ?y) :- e(?x, 1), e(?y, 0) .",
    "explicit and derived": "e(?y, ?x) :- e(?x, ?y) . e(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    "arithmetic": "d(?y, 1) :- e(0, ?y) ."
    " d(?y, ?n) :- d(?x, ?m), e(?x, ?y), BIND(?m + 1 AS ?n), FILTER(?n < 6) .",
}

LEFT_OUT = {
    "stratalog": {},
    "duckdb": {},
    "duckdb-recursion": {
        "recursion that is not linear",
        "more than one recursive predicate",
        "no recursion",
    },
}


def run(name, given, task="materialise"):
    system_class(name, task).write_files(given)
    system = system_class(name, task)(given)
    system.measure(lambda _: None)
    return system


@pytest.mark.parametrize("system", INSTALLED)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_system_derives_as_many_facts_as_the_oracle(system, program, tmp_path):
    graph = np.array(GRAPH)
    given = write_input(Workload({"e": graph}, {"e": ("x", "y")}, program), tmp_path)
    facts = " ".join(f"e({x}, {y}) ." for x, y in GRAPH)
    try:
        found = run(system, given).counts()
    except Inexpressible as reason:
        assert str(reason) in LEFT_OUT.get(system, {"built-ins"})  # noqa: PT017  # an answer
        return
    expected = naive.materialise(parse_program(f"{program} {facts}"))
    assert sum(found.values()) == len(expected)


@pytest.mark.parametrize(
    "benchmark", [b for b in BENCHMARKS if b.task in COMPARED], ids=lambda b: b.name
)
def test_all_systems_agree_on_a_benchmark_at_small_scale(benchmark, tmp_path):
    make_input(benchmark.generator, benchmark.parameters("small"), tmp_path)
    given = read_input(tmp_path)
    found = {}
    for name in (name for name in benchmark.systems if name in INSTALLED):
        try:
            found[name] = run(name, given, benchmark.task).counts()
        except Inexpressible:
            continue
    assert len(found) > 1, "nothing to compare"
    assert all(counts == found["stratalog"] for counts in found.values())


def test_joins_count_the_same_derivations_in_all_systems(tmp_path):
    given = make_input("join", {"rows": 2_000, "keys": 100}, tmp_path)
    found = {
        name: run(name, given, "join").figures()["derivations"]
        for name in ("stratalog", "duckdb", "polars")
        if name in INSTALLED
    }
    assert len(set(found.values())) == 1
    assert found["stratalog"] > given.explicit


def test_rows_of_the_insert_benchmark_are_as_different_as_promised(tmp_path):
    given = make_input("insert", {"rows": 2_500, "distinct": 2_000}, tmp_path)
    rows = given.columns(given.relations[0], as_values=True).T
    assert len(rows) == 2_500
    assert len(np.unique(rows, axis=0)) == 2_000


def test_rules_of_lubm_may_name_its_terms(tmp_path):
    ub = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
    rules = (
        f"@prefix ub: <{ub}> .\n"
        "alumnus(?x) :- ub:mastersDegreeFrom(?x, <http://www.University3.edu>) ."
    )
    given = make_input("lubm", {"universities": 1}, tmp_path, rules)
    found = {name: run(name, given).counts()["alumnus"] for name in ("stratalog", "duckdb")}
    assert found["stratalog"] == found["duckdb"] > 0


def test_a_variable_in_the_place_of_a_predicate_is_refused(tmp_path):
    with pytest.raises(BenchmarkError, match="B104"):
        make_input("lubm", {"universities": 1}, tmp_path, "[?x, ?p, ?y] :- [?y, ?p, ?x] .")


def test_a_program_that_a_system_cannot_express_is_left_out_with_a_reason(tmp_path):
    rules = "n(?k) :- AGGREGATE(e(?x, ?y) BIND COUNT(?x) AS ?k) ."
    given = write_input(Workload({"e": np.array(GRAPH)}, {"e": ("x", "y")}, rules), tmp_path)
    for name in INSTALLED[1:]:
        with pytest.raises(Inexpressible, match="aggregates"):
            system_class(name)(given)
    assert run("stratalog", given).counts()["n"] == 1
