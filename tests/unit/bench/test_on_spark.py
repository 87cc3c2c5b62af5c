"""The loop that one writes by hand on PySpark, and the table that compares it."""

from __future__ import annotations

import numpy as np
import pytest

from stratalog.lang.parse import parse_program
from stratalog_bench.failures import Inexpressible
from stratalog_bench.generate.workload import Workload
from stratalog_bench.spark.run import _report
from stratalog_bench.workloads.inputs import write_input
from tests import naive

GRAPH = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (4, 0)]
PROGRAM = """
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?Z) :- q(?x, ?y), e(?y, ?Z) .
q(?x, ?z) :- p(?x, ?y), e(?y, ?z) .
q(?x, ?z) :- q(?x, ?y), p(?y, ?z) .
e(?x, ?x) :- p(?x, ?x), e(?y, 1) .
last(?x, 3) :- p(?x, 3), e(3, ?x) .
pair(?x, ?X) :- e(?x, 1), e(?X, 0) .
"""


def given(program, folder):
    return write_input(Workload({"e": np.array(GRAPH)}, {"e": ("x", "y")}, program), folder)


@pytest.mark.spark
def test_the_loop_derives_as_many_facts_as_the_oracle(spark, tmp_path):
    from stratalog_bench.systems.pyspark_loop import PySparkLoop

    loop = PySparkLoop(given(PROGRAM, tmp_path), spark)
    loop.measure(lambda _: None)
    facts = " ".join(f"e({x}, {y}) ." for x, y in GRAPH)
    found = naive.materialise(parse_program(f"{PROGRAM} {facts}"))
    expected = dict.fromkeys(loop.counts(), 0)
    for predicate, _ in found:
        expected[predicate.name] += 1
    assert loop.counts() == expected
    spark.catalog.clearCache()


@pytest.mark.spark
def test_the_loop_refuses_what_it_has_no_words_for(spark, tmp_path):
    from stratalog_bench.systems.pyspark_loop import PySparkLoop

    with pytest.raises(Inexpressible):
        PySparkLoop(given("p(?x) :- e(?x, ?y), NOT e(?y, ?x) .", tmp_path), spark)


def test_the_table_tells_ratios_and_what_is_wanted():
    figures = {
        "loop": 60.0, "spark": 20.0, "columnar": 0.5, "tiny": 0.4, "tiny_rules": 16,
        "tiny_rounds": 20, "early": 0.5, "late": 0.6, "kept": 7, "few": 10, "many": 100,
        "small": 10.0, "large": 80.0, "updated": 50, "scratch": 25.0, "first_update": 9.0,
        "second_update": 8.0,
        "update": 5.0, "insert": 4.0, "deleted": 1000, "universities": 20, "explicit": 10,
        "facts": 20, "rounds": 9, "memory": "4g",
    }  # fmt: skip
    report = _report("spark", "LUBM_L.dlog", figures)
    rows = {row[0]: row[1:] for row in report.rows}
    assert rows["Stratalog on Spark"] == [20.0, 3.0, "> 3"]
    assert rows["there, deleting 1,000 facts"] == [5.0, 0.2, "< 0.35"]
    assert rows["a round of 16 rules, tiny data"] == [0.4, None, "< 1"]
    assert rows["100 universities"] == [80.0, 8.0, "< 11"]
    assert rows["a late one of a hundred rounds"][1] == pytest.approx(1.2)
    assert "LUBM_L.dlog" in report.notes[0]
    many = {"name": "Claros_LE", "seconds": 40.0, "facts": 9, "rounds": 2}
    more = _report("spark", "", {**figures, "many_rules": many})
    assert more.rows[-1] == ["Claros_LE", 40.0, None, "< 300"]
