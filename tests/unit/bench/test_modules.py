"""Rule modules are measured on materialisations that are compared, at sizes that take no time."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from stratalog.cli.main import main
from stratalog_bench.generate.graphs import dag
from stratalog_bench.harness import parts
from stratalog_bench.harness.process import Outcome
from stratalog_bench.harness.results import DONE, FAILED, OVER_LIMIT, Result
from stratalog_bench.harness.run import Settings
from stratalog_bench.maintenance.datasets import DataSet
from stratalog_bench.modules import (
    figures,
    interleaved,
    queryable,
    run,
    sets,
    spark_paths,
    spark_ways,
)
from stratalog_bench.modules.facts import ModularSubject, facts_digest
from stratalog_bench.modules.measurement import MODES, Amounts, measure_input
from stratalog_bench.modules.parts import PARTS
from stratalog_bench.modules.scale import AMOUNTS
from stratalog_bench.modules.tables import Tables, entries_of, ratio
from stratalog_bench.modules.targets import WantedTable
from stratalog_bench.workloads.inputs import make_input

GRAPH = {"nodes": 40, "edges": 120, "recursion": "both"}
TINY_GRAPH = DataSet("DAG-R", "dag", GRAPH, GRAPH)
TINY_CHAIN = DataSet("chain", "chain", {"nodes": 30}, {"nodes": 30})
TINY_CLIQUE = DataSet("clique", "cliques", {}, {"size": 12, "extra": 1})
TINY_LAYERS = {"nodes": 60, "layers": 4, "parents": 2}
WITHOUT = DataSet("same-generation", "same_generation", TINY_LAYERS, TINY_LAYERS)
ALONE = [name for name in PARTS if name not in {"universities", "spark"}]
FEW = {"facts": 5, "few": 5, "subsets": 2, "turns": 1}


def quiet(_):
    pass


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the cells of a data set in all modes."""
    given = make_input("dag", GRAPH, tmp_path_factory.mktemp("graph"))
    return {mode: measure_input(given, Amounts(mode, **FEW), quiet) for mode in MODES}


@pytest.fixture
def cells(measured):
    return deepcopy(measured)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Let all parts be tiny, and return how to run the command."""
    monkeypatch.chdir(tmp_path)
    for name, chosen in (
        ("DAG_R", TINY_GRAPH),
        ("EXAMPLES", (TINY_CHAIN,)),
        ("CLIQUE", TINY_CLIQUE),
        ("WITHOUT", (WITHOUT,)),
        ("TABLED", (TINY_GRAPH, sets.LUBM_LE)),
        ("BY_NAME", {"DAG-R": TINY_GRAPH, "LUBM_LE": sets.LUBM_LE}),
    ):
        monkeypatch.setattr(sets, name, chosen)

    def command(*arguments):
        return main(["bench", "modules", "--scale", "small", *arguments])

    return command


def test_the_facts_of_all_modes_are_the_same_and_their_work_is_not(cells):
    assert run.differences(cells) == []
    assert [cell["problems"] for cell in cells.values()] == [[], [], []]
    assert set(cells["auto"]["digests"]) == {"materialised", "deleted", "quarter"}
    derivations = [cells[mode]["derivations"] for mode in MODES]
    assert derivations == sorted(derivations, reverse=True)
    assert [cells[mode]["modules"] for mode in MODES] == ["", "1 transitive", "1 transitive"]


def test_a_digest_of_facts_does_not_see_how_they_are_counted(tmp_path):
    given = make_input("dag", GRAPH, tmp_path)
    off, auto = (ModularSubject(given, 60.0, modules=mode) for mode in ("off", "auto"))
    assert off.start == auto.start
    took = auto.delete("dred-c", auto.batch(auto.shuffled(0)[:3]))
    assert took.removed > 0
    assert facts_digest(auto.engine) != off.start
    auto.roll_back()
    assert facts_digest(auto.engine) == off.start


def test_other_facts_in_a_mode_are_told(cells):
    cells["paper"]["digests"]["deleted"] = "none"
    (line,) = [each for each in run.differences(cells) if "paper" in each]
    assert line.startswith("deleted: none with modules=paper; off: ")


def test_a_materialisation_over_the_limit_is_a_lower_bound(tmp_path, cells):
    given = make_input("dag", GRAPH, tmp_path)
    cells["off"] = measure_input(given, Amounts("off", **FEW, patience=1e-9), quiet)
    assert cells["off"]["materialise"]["runs"] == []
    assert run.differences(cells) == []
    result = Result("small", 1, 60.0)
    tables = Tables("modules", AMOUNTS["small"].cell, result.reports)
    tables.add("DAG-R", cells)
    tables.add_wrong("other")
    for report in result.reports:
        assert [len(row) for row in report.rows] == [len(report.columns)] * 2
    row = dict(zip(tables.materialise.columns, tables.materialise.rows[0], strict=True))
    assert (row["Mat"], row["Mat, derivations"]) == ("> 300 s", "-")
    assert row["ours: times faster"].startswith("> ")
    assert tables.updates["delete"].rows[0][2] == "-"


def test_ratios_are_of_means():
    slow, fast = {"runs": [{"cpu": 6.0}]}, {"runs": [{"cpu": 1.0}, {"cpu": 3.0}]}
    assert ratio(slow, fast, 60.0) == 3.0
    assert ratio({"runs": []}, fast, 60.0) == "> 30.0"
    assert ratio(None, fast, 60.0) == "-"
    assert ratio(slow, {"runs": []}, 60.0) == "-"


def test_entries_are_results_of_modes(cells):
    entries = entries_of("modules, DAG-R", {"nodes": 40}, cells)
    parts = ["materialise", "delete", "insert", "large"]
    assert [entry.name for entry in entries] == [f"modules, DAG-R, {part}" for part in parts]
    assert entries[0].of("modules=auto").figures["derivations"] == 120
    assert all(entry.explicit == 120 for entry in entries)


def test_figures_say_whether_they_are_met():
    reports = []
    table = WantedTable("modules", reports)
    assert reports == []
    table.at_most("a", 2.0, 3.0, "ms")
    table.at_most("b", 4.0, 3.0, "ms")
    table.at_least("c", 7.0, 5.0)
    table.at_least("d", 7.0, 9.0, is_bound=True)
    table.at_least("e", 9.5, 9.0, is_bound=True)
    table.holds("f", is_met=False)
    assert [row[-1] for row in reports[0].rows] == [True, False, True, "?", True, False]
    assert reports[0].rows[3][1:4] == ["> 7.0", "times", ">= 9"]


def test_scipy_is_asked_for_where_it_is_missing(tmp_path, monkeypatch, cells):
    monkeypatch.setattr(queryable, "find_spec", lambda _: None)
    make_input("dag", GRAPH, tmp_path)
    search = queryable.search(tmp_path, 1, quiet)
    closure = queryable.measure(tmp_path, 1, quiet)
    edges = {"cpu": 0.1}
    times = {"edges delete": edges, "edges insert": edges}
    called = {"pairs": closure["pairs"], "times": times, "arrow": 0.1, "materialise": 0.1}
    reports = []
    table = WantedTable("modules", reports)
    found = closure, search, called | {"bytes": 1, "resident": 1}
    assert figures.graph_figures(table, AMOUNTS["small"], cells, found) == []
    assert any(row[1] == "not measured" for row in reports[0].rows)
    assert any('pip install "stratalog[bench]"' in note for note in reports[0].notes)


def test_scipy_finds_the_same_pairs(tmp_path):
    pytest.importorskip("scipy")
    make_input("dag", GRAPH, tmp_path)
    search = queryable.search(tmp_path, 1, quiet)
    assert search["pairs"] == queryable.measure(tmp_path, 1, quiet)["pairs"] > 120


@pytest.mark.slow
def test_the_command_prints_tables_and_figures_and_writes_them(tiny, tmp_path, capsys):
    chosen = [word for name in ALONE for word in ("--only", name)]
    assert tiny(*chosen, "--json", "r.json") == 0
    out = capsys.readouterr().out
    assert out.count("\nDAG-R ") == 4
    assert "left out: LUBM_LE; --data FOLDER" in out
    assert "same-generation: equal work" in out
    assert "at small scale" in out
    found = json.loads((tmp_path / "r.json").read_text())
    names = [each["name"] for each in found["maintenance"]]
    assert names[0] == "modules, DAG-R, materialise"
    (report,) = [each for each in found["reports"] if each["name"] == "modules: figures"]
    told = {row[0].split(":")[0] for row in report["rows"]}
    assert told == {"DAG-R", "chain of 30", "clique of 12", "same-generation"}
    assert main(["bench", "--compare", "r.json", "r.json"]) == 0


@pytest.mark.slow
def test_universities_are_updated_by_rules_of_the_folder(tiny, tmp_path, capsys):
    rules = tmp_path / "data" / "rules"
    rules.mkdir(parents=True)
    (rules / "LUBM_LE.dlog").write_text(
        "@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .\n"
        "colleague(?x, ?y) :- ub:worksFor(?x, ?d), ub:worksFor(?y, ?d) .\n"
    )
    assert tiny("--only", "universities", "--data", "data", "-q") == 0
    assert "LUBM_LE: delete 50 facts, least" in capsys.readouterr().out
    assert tiny("--only", "universities", "-q") == 0
    assert "--data FOLDER names a folder" in capsys.readouterr().out


@pytest.mark.spark
@pytest.mark.parametrize("way", [spark_ways.CLOSURE, spark_ways.JOINS, spark_ways.LOOP])
def test_every_way_on_spark_finds_the_same_paths(spark, tmp_path, way):
    ways = spark_ways._loop if way == spark_ways.LOOP else spark_ways._engine
    found = ways(spark, tmp_path / "input", way, dag(**GRAPH), quiet)
    assert found.facts == spark_paths._facts(GRAPH) > 120
    assert found.seconds > 0
    assert (found.delete > 0) == (found.insert > 0) == (way == spark_ways.CLOSURE)


def on_spark(monkeypatch, **answers):
    """Let workers answer so, and rightly where nothing else is said; None is beyond the limit."""

    def answer(task, *_):
        told = answers[task.settings["way"]]
        return Outcome(OVER_LIMIT, {}, "") if told is None else Outcome(DONE, told, "")

    monkeypatch.setattr(spark_paths, "run_task", answer)
    right = spark_paths._facts(GRAPH)
    for told in answers.values():
        if told is not None:
            told.setdefault("facts", right)


def taken(cpu, work=3):
    return {"took": {"delete": {"cpu": cpu, "work": work}}}


def test_a_program_without_modules_is_compared_by_medians_and_by_the_work_of_each_turn():
    off, auto = [taken(1.0), taken(2.0), taken(9.0)], [taken(4.0), taken(1.0), taken(3.0)]
    compared = interleaved.compare({"off": off, "auto": auto})
    assert compared == {"ratios": {"delete": 1.5}, "is_equal": True}
    more = [taken(1.0), taken(1.0, work=4), taken(1.0)]
    assert not interleaved.compare({"off": off, "auto": more})["is_equal"]
    assert [interleaved.order(turn)[0] for turn in (1, 2, 3)] == ["off", "auto", "off"]


def test_joins_on_spark_beyond_the_limit_are_a_lower_bound(tiny, monkeypatch, capsys):
    closure = {"seconds": 2.0, "stages": 1, "delete": 1.5, "insert": 0.5}
    on_spark(monkeypatch, closure=closure, joins=None, loop={"seconds": 40.0})
    assert tiny("--only", "spark", "-q") == 0
    shown = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert "Spark, DAG-R: against the PySpark loop 20.00 times >= 25 no" in shown
    assert "Spark, DAG-R: against our rounds of joins > 30.0 times >= 25 yes" in shown
    assert "Spark, DAG-R: executors list it in one stage yes yes yes" in shown
    assert "Spark, DAG-R: delete 2 edges 1.50 s" in shown


def test_joins_on_spark_without_enough_memory_are_a_lower_bound(tiny, monkeypatch, capsys):
    closure = {"seconds": 2.0, "stages": 1, "delete": 1.5, "insert": 0.5}
    failed = {"ended": 40.0, "why": "E203: memory was short"}
    on_spark(monkeypatch, closure=closure, joins=failed, loop=None)
    assert tiny("--only", "spark", "-q") == 0
    shown = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert "Spark, DAG-R: against our rounds of joins > 20.0 times >= 25 ?" in shown
    assert "Spark, our rounds of joins: not done after 40 s, E203: memory was short" in shown
    assert "Spark, the PySpark loop: not done after 60 s, which is the limit" in shown


def test_no_stage_is_not_one(tiny, monkeypatch, capsys):
    """A graph this small is listed by the driver."""
    closure = {"seconds": 2.0, "stages": 0, "delete": 1.5, "insert": 0.5}
    on_spark(monkeypatch, closure=closure, joins=None, loop=None)
    assert tiny("--only", "spark", "-q") == 0
    shown = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert "Spark, DAG-R: executors list it in one stage no yes no" in shown


def test_other_facts_on_spark_are_a_problem(tiny, monkeypatch, capsys):
    on_spark(monkeypatch, closure={"seconds": 2.0, "facts": 7}, joins=None, loop=None)
    assert tiny("--only", "spark") == 1
    shown = capsys.readouterr()
    assert "Spark, by closure: 7 facts, not " in shown.err
    assert "against" not in shown.out


def test_spark_is_asked_for_where_it_is_missing(tiny, monkeypatch, capsys):
    monkeypatch.setattr(run, "find_spec", lambda _: None)
    assert tiny("--only", "spark", "-q") == 0
    assert 'pip install "stratalog[spark]"' in capsys.readouterr().out


def test_wrong_results_have_no_times_and_end_with_status_1(tiny, monkeypatch, capsys):
    def other_facts(*arguments):
        told = {"materialised": arguments[4]["modules"]}
        return {"digests": told, "materialise": {"runs": [{"cpu": 1.0}]}, "problems": []}

    monkeypatch.setattr(run, "run_part", other_facts)
    assert tiny("--only", "tables") == 1
    shown = capsys.readouterr()
    assert "B109" in shown.err
    assert "materialised: paper with modules=paper; off: off" in shown.err
    assert "wrong" in shown.out


def test_a_worker_that_fails_is_a_problem(tiny, monkeypatch, capsys):
    monkeypatch.setattr(parts, "run_task", lambda *_: Outcome(FAILED, {}, "no luck"))
    assert tiny("--only", "clique") == 1
    assert "no luck" in capsys.readouterr().err


def test_every_part_can_be_run():
    settings = Settings(scale="small")
    made = run._Modules("modules", settings, Result("small", 1, 60.0), None)
    assert tuple(made.parts) == PARTS


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--only", "nothing"], "'nothing' is not one of tables"),
        (["--set", "GO"], "'GO' is not one of DAG-R"),
    ],
)
def test_a_mistake_in_the_command_is_explained(tiny, capsys, arguments, word):
    assert tiny(*arguments) == 2
    assert word in capsys.readouterr().err
