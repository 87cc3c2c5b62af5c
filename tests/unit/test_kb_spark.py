"""A knowledge base and Spark: DataFrames in and out, views, readers, and the files as they are."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge import reader

pytestmark = pytest.mark.spark

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_facts_of_a_predicate_as_a_frame_of_the_active_session(spark):
    kb = sl.materialise(
        "@declare sale(id string, amount decimal, day date) .",
        {"sale": [("x", Decimal("1.5"), date(2020, 1, 2))]},
    )
    frame = kb.frame("sale")
    assert frame.dtypes == [("id", "string"), ("amount", "decimal(38,1)"), ("day", "date")]
    assert rows(frame) == [("x", Decimal("1.5"), date(2020, 1, 2))]
    assert frame.sparkSession is spark or frame.sparkSession.sparkContext is spark.sparkContext


def test_views_answer_sql(spark):
    kb = sl.materialise(
        f"@prefix e: <http://e/> . e:p(?x) :- edge(?x, ?y) . e:p(?x, ?y) :- edge(?x, ?y) . {RULES}",
        {"edge": EDGES},
    )
    names = kb.views(prefix="kb_")
    assert names == {
        "e:p/1": "kb_e_p", "e:p/2": "kb_e_p_2", "edge": "kb_edge", "path": "kb_path"
    }  # fmt: skip
    found = spark.sql("SELECT c0, count(*) FROM kb_path GROUP BY c0")
    assert rows(found) == [("a", 3), ("b", 2), ("c", 1)]
    with pytest.raises(sl.EngineError, match="E120"):
        kb.views(prefix="my views ")


def test_joins_of_frames_that_never_match_are_told(spark, tmp_path):
    edges = spark.createDataFrame([(1, 2)], "a long, b long")
    names = spark.createDataFrame([("2", "x")], "a string, b string")
    program = "named(?x, ?n) :- edge(?x, ?y), name(?y, ?n) ."
    with pytest.warns(sl.StratalogWarning, match="W305: .y never matches: column 2 of edge holds"):
        sl.materialise(program, {"edge": edges, "name": names})
    (tmp_path / "name.csv").write_text("2,x\n")
    facts = [{"edge": edges}, tmp_path / "name.csv"]
    with pytest.warns(sl.StratalogWarning, match="W305"):
        sl.materialise(program, facts, reader="spark", spark=spark, engine="spark")


def test_frames_are_facts_by_position_or_by_declared_name(spark):
    edges = spark.createDataFrame([(n, n + 1) for n in range(4)], "a long, b long")
    kb = sl.materialise(RULES, {"edge": edges})
    assert len(kb["path"]) == 10
    named = sl.materialise(
        '@declare sale(buyer string = "who.id", n integer) .',
        [{"sale": spark.sql("SELECT 7 AS n, struct('x' AS id) AS who, array(1) AS other")}],
    )
    assert list(named["sale"]) == [("x", 7)]


def test_a_large_frame_is_encoded_by_spark_to_the_same_facts(spark, monkeypatch):
    edges = spark.createDataFrame([(f"n{n}", f"n{n + 1}") for n in range(9)], "a string, b string")
    small = sl.materialise(RULES, {"edge": edges})
    monkeypatch.setattr(reader, "LARGEST_LOCAL", 0)
    large = sl.materialise(RULES, {"edge": edges})
    assert set(large["path"]) == set(small["path"])


def test_a_bad_frame_is_an_error_with_its_key(spark):
    with pytest.raises(sl.DataError, match="D301") as caught:
        sl.materialise(RULES, {"edge": spark.sql("SELECT 1 AS x")})
    assert 'facts["edge"]' in str(caught.value)
    with pytest.raises(sl.DataError, match="D304"):
        sl.materialise(RULES, {"edge": spark.sql("SELECT 1 AS x, CAST(NULL AS int) AS y")})


def test_frames_of_terms_given_back_are_the_same_facts(spark):
    facts = {"<http://e/knows>": [(sl.IRI("http://e/a"), "a"), (sl.BNode("b"), 2)]}
    kb = sl.materialise("", facts)
    frame = kb.frame("<http://e/knows>", spark)
    again = sl.materialise("", {"<http://e/knows>": frame.where("c0 is not null")})
    assert set(again["<http://e/knows>"]) == set(kb["<http://e/knows>"])


def test_both_readers_give_the_same_numbers_and_facts(spark, tmp_path):
    (tmp_path / "edge.csv").write_text("".join(f"{x},{y}\n" for x, y in EDGES))
    (tmp_path / "more.nt").write_text('<http://e/a> <http://e/p> "d" .\n')
    given = [
        {"first": [("z",)]},
        tmp_path / "edge.csv",
        {"edge": [("d", "e")]},
        tmp_path / "more.nt",
    ]
    local = sl.materialise(RULES, given, reader="local")
    by_spark = sl.materialise(RULES, given, reader="spark", spark=spark)
    assert by_spark._dictionary.to_table().equals(local._dictionary.to_table())
    assert by_spark.counts() == local.counts()


def test_a_user_hears_of_every_stage(spark, tmp_path):
    (tmp_path / "edge.csv").write_text("a,b\n")
    told = []
    sl.materialise(
        RULES,
        tmp_path / "edge.csv",
        reader="spark",
        spark=spark,
        store=tmp_path / "kb",
        publish=tmp_path / "published",
        progress=lambda stage, detail: told.append((stage, detail)),
    )
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["spark", "read", "encode", "plan", "reason", "save", "publish"]
    assert any(stage == "encode" and detail.startswith("1 fact, ") for stage, detail in told)


@pytest.mark.usefixtures("spark")
def test_large_input_goes_to_spark_by_itself(tmp_path, monkeypatch):
    path = tmp_path / "edge.csv"
    path.write_text("a,b\n")
    options = reader.Options()
    assert not reader.choose_reader(path, options).by_spark
    assert not reader.choose_reader({"edge": EDGES}, options).by_spark
    assert reader.choose_reader("s3a://bucket/edge.csv", options).by_spark
    assert reader.choose_reader("edge=s3a://bucket/edge.csv", options).by_spark
    assert reader.choose_reader("edge=spark_catalog.default.edges", options).by_spark
    assert not reader.choose_reader("s3a://x/y.csv", reader.Options(reader="local")).by_spark
    monkeypatch.setattr(reader, "LARGEST_LOCAL", 3)
    assert reader.choose_reader(path, options).by_spark
    assert not reader.choose_reader(path, reader.Options(reader="local")).by_spark


@pytest.mark.parametrize("name", ["edges.csv", "no_such", "a.b", "edge=missing.tsv.gz"])
def test_a_missing_file_does_not_start_spark(name):
    with pytest.raises(sl.DataError, match="D100"):
        reader.choose_reader(name, reader.Options())


def test_a_table_of_the_catalogue_feeds_a_predicate(spark):
    spark.createDataFrame(EDGES, "a string, b string").createOrReplaceTempView("edges_seen")
    kb = sl.materialise(RULES, "edge=edges_seen", reader="spark", spark=spark)
    assert len(kb["path"]) == 6


def test_options_that_do_not_go_together_are_refused(spark):
    for options, code in [
        ({"spark": spark, "master": "local[2]"}, "E206"),
        ({"spark": "mine"}, "E120"),
        ({"conf": ["spark.ui.port=1"]}, "E206"),
        ({"conf": {"ui.port": 1}}, "E206"),
        ({"master": "here"}, "E206"),
        ({"reader": "mine"}, "E120"),
        ({"progress": "loud"}, "E120"),
    ]:
        with pytest.raises(sl.EngineError, match=code) as caught:
            sl.materialise(RULES, {"edge": EDGES}, **options)
        assert caught.value.help


def test_published_facts_are_read_by_spark(spark, tmp_path):
    kb = sl.materialise(RULES, {"edge": EDGES}, publish=tmp_path)
    leaf = spark.read.parquet(str(tmp_path / "path" / "version=1"))
    assert leaf.columns == ["c0", "c1"]
    assert rows(leaf) == sorted(kb["path"])
    kb.publish(tmp_path)
    whole = spark.read.parquet(str(tmp_path / "path"))
    assert whole.columns == ["c0", "c1", "version"]
    assert whole.where("version = 2").count() == 6


def test_the_files_of_a_store_are_read_by_spark_as_they_are(spark, tmp_path):
    kb = sl.materialise(RULES, {"edge": EDGES}, store=tmp_path)
    manifest = json.loads((tmp_path / "versions" / "00000001.json").read_text())
    paths = {each["name"]: each["files"][0]["path"] for each in manifest["relations"]}
    stored = spark.read.parquet(str(tmp_path / paths["path"]))
    assert stored.dtypes == [
        ("c0", "bigint"), ("c1", "bigint"), ("label", "int"),
        ("nonrecursive", "int"), ("recursive", "int"),
    ]  # fmt: skip
    stored.createOrReplaceTempView("path")
    (part,) = manifest["dictionary"]["files"]
    source = Path(tmp_path / part["path"])
    spark.sql(
        f"SELECT _metadata.row_index AS id, text FROM parquet.`{source}`"
    ).createOrReplaceTempView("dictionary")
    decoded = spark.sql(
        "SELECT s.text, o.text FROM path JOIN dictionary s ON s.id = c0 "
        "JOIN dictionary o ON o.id = c1 WHERE label & 1 = 0"
    )
    assert rows(decoded) == sorted(kb["path"])


def test_a_frame_goes_back_to_arrow_without_pandas(spark):
    kb = sl.materialise(RULES, {"edge": EDGES})
    table = kb.frame("path", spark).toArrow()
    assert isinstance(table, pa.Table)
    assert table.num_rows == 6
