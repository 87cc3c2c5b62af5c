"""Every option changes something: what is seen with it differs from what is seen without it."""

import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import stratalog as sl
from stratalog.knowledge.options import MADE_WITH, Options, check_options
from stratalog.knowledge.reader import choose_reader, open_session

PATHS = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
EDGE = "other(?x, ?y) :- edge(?x, ?y) ."
LINKS = "owl:sameAs(?x, ?y) :- edge(?x, ?y) ."
EDGES = {"edge": [("a", "b"), ("b", "c")]}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("edge.csv").write_text("x,y\na,b\n")
    Path("bad.csv").write_text("a,b\nc\n")
    Path("edge.orc").write_text("")
    Path("quads.nq").write_text("<http://s> <http://p> <http://o> <http://g> .\n")


def made(facts=EDGES, program=PATHS, **options):
    """Return a knowledge base, or the code of the error."""
    try:
        return sl.materialise(program, facts, **options)
    except sl.StratalogError as error:
        return error.code


def reopened(facts=EDGES, program=PATHS, **options):
    """Return the same by way of a store that is opened with the options and updated."""
    folder = f"opened-{len(list(Path().glob('opened-*')))}"
    sl.materialise(program, {"edge": []}, store=folder)
    try:
        kb = sl.open(folder, **options)
        kb.update(insert=facts)
    except sl.StratalogError as error:
        return error.code
    return kb


def size(kb):
    return kb if isinstance(kb, str) else kb.stats["explicit"]


def engine(make):
    return [make(**given).stats["engine"] for given in ({}, {"engine": "reference"})]


def maintenance(make):
    bases = [make(**given) for given in ({}, {"maintenance": "rematerialise"})]
    return [kb.update(delete=EDGES).stats["maintenance"] for kb in bases]


def modules(make):
    return [make(**given)._plan.has_modules for given in ({}, {"modules": "off"})]


def schemes(make):
    return [size(make(**given)) for given in ({}, {"schemes": "plain"})]


def equality(make):
    return [_warnings(make, **given) for given in ({}, {"equality": "off"})]


def _warnings(make, **given):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        make(program=LINKS, **given)
    return [each.message.code for each in told]


def joins(make):
    return [size(make(**given)) for given in ({}, {"joins": "hypertree"})]


def graphs(make):
    bases = [make(["quads.nq"], program="", **given) for given in ({}, {"graphs": "keep"})]
    return [kb.predicates() for kb in bases]


def on_bad_input(make):
    return [size(make({"edge": "bad.csv"}, **g)) for g in ({}, {"on_bad_input": "skip"})]


def header(make):
    return [size(make(["edge.csv"], **given)) for given in ({}, {"header": True})]


def threads(make):
    return [make(**given)._host.engine.threads.count for given in ({}, {"threads": 2})]


def memory(make):
    many = {"edge": np.arange(100_000).reshape(-1, 2)}
    here = {"engine": "columnar"}  # `auto` might go over to Spark
    return [size(make(many, EDGE, **here, **given)) for given in ({}, {"memory": 10_000})]


def max_facts(make):
    return [size(make(**given)) for given in ({}, {"max_facts": 1})]


def max_digits(make):
    return [size(make({"edge": [(1234, 5)]}, **given)) for given in ({}, {"max_digits": 3})]


def timeout(make):
    return [size(make(**given)) for given in ({}, {"timeout": 1e-9})]


def progress(make):
    told = []
    make(progress=lambda stage, _: told.append(stage))
    return [[], told]


def store(make):
    make(store="kept")
    return [False, Path("kept").exists()]


def keep(_):
    sl.materialise(PATHS, EDGES, store="all").update(delete=EDGES)
    sl.materialise(PATHS, EDGES, store="one", keep=1).update(delete=EDGES)
    return [len(sl.open(name).versions()) for name in ("all", "one")]


def publish(make):
    make(publish="out")
    return [False, Path("out/path").exists()]


def reader(_):
    return [choose_reader("edge.csv", check_options(reader=r)) for r in ("auto", "spark")]


def spark(make):
    return [size(make(**given)) for given in ({}, {"spark": "mine"})]


def master(_):
    given = {"engine": "columnar", "master": "local[1]"}  # where no Spark starts
    return [size(made(engine="columnar")), size(made(**given))]


def conf(_):
    given = {"engine": "columnar", "conf": {"spark.ui.port": 1}}
    return [size(made(engine="columnar")), size(made(**given))]


def spill(make):
    return [size(make(engine="reference", **given)) for given in ({}, {"spill": "spark"})]


EFFECTS = {
    effect.__name__: effect
    for effect in (
        engine, maintenance, modules, schemes, equality, joins, graphs, on_bad_input, header,
        threads, memory, max_facts, max_digits, timeout, progress, store, keep, publish, reader,
        spark, master, conf, spill,
    )
}  # fmt: skip
KNOWN = [field.name for field in fields(Options)]


@pytest.mark.parametrize("name", KNOWN)
def test_an_option_of_materialise_changes_something(name):
    without, given = EFFECTS[name](made)
    assert without != given


@pytest.mark.parametrize("name", sorted({*KNOWN}.difference(MADE_WITH, {"keep", "spill"})))
def test_an_option_of_open_changes_something(name):
    without, given = EFFECTS[name](reopened)
    assert without != given


def test_the_algorithm_of_one_update_can_be_chosen():
    kb = sl.materialise(PATHS, EDGES)
    done = [kb.update(delete=EDGES, maintenance=name) for name in ("dred", "rematerialise")]
    assert done[0].stats["maintenance"] != done[1].stats["maintenance"]


def test_choices_without_a_meaning_yet_are_refused():
    for name in ("plain", "paper"):
        with pytest.raises(sl.EngineError, match=r"E121: .*not supported yet") as caught:
            sl.materialise("", schemes=name)
        assert caught.value.help == "one of auto"


def test_settings_are_refused_where_no_spark_starts():
    for given in ({"master": "local[1]"}, {"conf": {"spark.ui.port": 1}}):
        for where in ("columnar", "reference"):
            for facts in (EDGES, ["edge.csv"]):
                assert made(facts, engine=where, **given) == "E206"
        assert size(made(**given)) == 2  # Spark may be chosen


def test_settings_make_a_session_or_must_be_those_of_the_one_that_runs(spark):
    assert open_session(Options(spark=spark)) is spark
    for asked in ({"master": "local[7]"}, {"conf": {"spark.executor.cores": 7}}):
        with pytest.raises(sl.EngineError, match="E206"):
            open_session(Options(**asked))
    kb = sl.materialise(PATHS, EDGES, engine="spark", spark=spark)
    assert (kb.stats["engine"], size(kb)) == ("spark", 2)
