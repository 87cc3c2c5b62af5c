"""Change feeds: what a batch comes to, files of all formats, output that is shown once."""

import gzip
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratalog as sl
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.feed import check_shapes, feed_of, fitted, net
from stratalog.pipeline.feed_files import Folder, feeds_of, find_folder
from stratalog.pipeline.feed_output import Changed, opened
from stratalog.pipeline.tables import Vocabulary

EDGE = Vocabulary((), {"edge": {2}})
SALE = Vocabulary(
    parse_program('@declare sale(id string = "who", amount decimal, note string?) .').declarations
)
RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def changes(*rows, names=("a", "b", "_change_type", "_commit_version")):
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=list(names[: len(columns)]))


def rows(tables):
    return sorted(tuple(row.values()) for _, table in tables for row in table.to_pylist())


def comes_to(*tables, vocabulary=EDGE, name="edge"):
    found = net([feed_of(name, table) for table in tables], vocabulary)
    return rows(found.insert), rows(found.delete)


# -- what a batch comes to


def test_words_of_a_feed():
    table = changes(
        (1, 1, "insert"), (2, 2, "delete"), (3, 3, "update_preimage"), (4, 4, "update_postimage")
    )
    assert comes_to(table) == ([(1, 1), (4, 4)], [(2, 2), (3, 3)])


def test_with_versions_the_last_change_of_a_fact_wins():
    table = changes(
        (1, 2, "insert", 1), (1, 2, "delete", 3), (1, 2, "insert", 2),
        (5, 6, "delete", 1), (5, 6, "insert", 2), (7, 7, "delete", 9),
    )  # fmt: skip
    assert comes_to(table) == ([(5, 6)], [(1, 2), (7, 7)])


def test_without_versions_or_within_one_both_stay_and_an_update_inserts():
    assert comes_to(changes((1, 2, "insert"), (1, 2, "delete"))) == ([(1, 2)], [(1, 2)])
    both = changes((1, 2, "update_preimage", 4), (1, 2, "update_postimage", 4), (3, 3, "insert", 1))
    assert comes_to(both) == ([(1, 2), (3, 3)], [(1, 2)])


def test_the_last_change_wins_over_files_whose_columns_have_other_types_of_arrow():
    small = changes((1, 2, "insert", 1))
    small = small.set_column(0, "a", small.column(0).cast(pa.int16()))
    assert comes_to(small, changes((1, 2, "delete", 2))) == ([], [(1, 2)])


def test_facts_are_compared_as_constants_not_as_texts():
    names = ("who", "amount", "note", "_change_type", "_commit_version")
    table = changes(("x", "1.50", "n", "insert", 1), ("x", "1.5", "n", "delete", 2), names=names)
    assert comes_to(table, vocabulary=SALE, name="sale") == ([], [("x", "1.5", "n")])


def test_a_row_without_a_fact_wins_over_nothing():
    names = ("who", "amount", "note", "_change_type", "_commit_version")
    table = changes(
        ("x", "1", "n", "insert", 1), ("x", "1", None, "delete", 2), ("y", "1", "n", "delete", 2),
        names=names,
    )  # fmt: skip
    assert comes_to(table, vocabulary=SALE, name="sale")[0] == [("x", "1", "n")]


def test_an_iri_may_be_fed_as_a_class_and_as_a_property():
    known = Vocabulary((), {"<http://e/p>": {1, 2}})
    one = changes(
        ("x", "insert", 1), ("x", "delete", 2), names=("a", *("_change_type", "_commit_version"))
    )
    two = changes(("x", "y", "delete", 1), ("x", "y", "insert", 2))
    assert comes_to(one, two, vocabulary=known, name="<http://e/p>") == ([("x", "y")], [("x",)])


def test_a_predicate_without_arguments_is_fed_by_the_column_that_stands_for_none():
    table = pa.table({"holds": [True, True], "_change_type": ["insert", "delete"]})
    feed = fitted(feed_of("on", table), Vocabulary((), {"on": {0}}))
    assert feed.table.num_columns == 0
    found = net([feed], Vocabulary((), {"on": {0}}))
    assert [table.num_rows for _, table in (*found.insert, *found.delete)] == [1, 1]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pa.table({"a": [1], "b": [2]}), "no column _change_type, only a, b"),
        (changes((1, 2, "insert"), (3, 4, "upsert")), "_change_type in row 2 is 'upsert'"),
        (changes((1, 2, "insert"), (3, 4, None)), "_change_type in row 2 is None"),
        (changes((1, 2, "insert", None), (3, 4, "insert", 1)), "_commit_version is null"),
        (changes((1, 2, "insert", "one")), "_commit_version is string"),
        (changes((1, 2, 7)), "_change_type in row 1 is 7"),
    ],
)
def test_a_feed_that_does_not_tell_what_happened_is_refused(table, said):
    with pytest.raises(sl.DataError, match="D330") as caught:
        feed_of("edge", table, "feed/edge/1.parquet")
    assert said in str(caught.value)
    assert caught.value.path == "feed/edge/1.parquet"


# -- the schema


def shapes_of(*tables, known=None, vocabulary=EDGE, name="edge"):
    feeds = [feed_of(name, table, f"{place}.parquet") for place, table in enumerate(tables)]
    return check_shapes(feeds, vocabulary, known or {})


def test_a_schema_that_changes_in_mid_stream_is_refused():
    first = changes((1, 2, "insert", 1))
    known = shapes_of(first)
    assert shapes_of(first, known=known) == known
    for other in (
        changes(("1", 2, "insert", 1)),
        changes((1, 2, "insert")),
        changes((1, 2, "insert", 1), names=("b", "a", "_change_type", "_commit_version")),
    ):
        with pytest.raises(sl.DataError, match="D331") as caught:
            shapes_of(other, known=known)
        assert caught.value.path == "0.parquet"
    with pytest.raises(sl.DataError, match=r"it was \(a integer, b integer\), and is \(a string"):
        shapes_of(changes((1, 2, "insert")), changes(("1", 2, "insert")))


def test_types_of_arrow_that_hold_the_same_kind_are_one_schema():
    wide = changes((1, 2, "insert"))
    small = wide.set_column(0, "a", wide.column(0).cast(pa.int8()))
    assert shapes_of(wide, small) == shapes_of(wide)


def test_columns_that_are_not_used_may_come_and_go():
    names = ("who", "amount", "note", "_change_type")
    table = changes(("x", Decimal(1), "n", "insert"), names=names)
    more = table.append_column("other", pa.array([[1]]))
    assert shapes_of(table, more, vocabulary=SALE, name="sale")


# -- files


def files_of(folder, *paths):
    return [(f"file:{folder / path}", None) for path in paths]


def read(folder, *paths, vocabulary=EDGE, predicates=(), name=None):
    found = feeds_of(Folder(str(folder), name), files_of(folder, *paths), predicates, vocabulary)
    return {feed.name: feed for feed in found}


def test_a_folder_per_predicate_and_folders_inside_it(tmp_path):
    (tmp_path / "edge" / "day=1").mkdir(parents=True)
    pq.write_table(changes((1, 2, "insert")), tmp_path / "edge" / "day=1" / "a b.parquet")
    feed = read(tmp_path, "edge/day=1/a b.parquet")["edge"]
    assert feed.table.to_pylist() == [{"a": 1, "b": 2}]
    assert feed.path == str(tmp_path / "edge" / "day=1" / "a b.parquet")


def test_a_predicate_named_by_an_iri_has_the_folder_that_publishing_gives_it(tmp_path):
    knows = Predicate("<http://e/knows>", 2)
    vocabulary = Vocabulary((), {knows.name: {2}}, (("e", "http://e/"),))
    (tmp_path / "e_knows").mkdir()
    pq.write_table(changes(("x", "y", "insert")), tmp_path / "e_knows" / "1.parquet")
    found = read(tmp_path, "e_knows/1.parquet", vocabulary=vocabulary, predicates=[knows])
    assert list(found) == [knows.name]


def test_bytes_that_spark_has_fetched_are_read_like_files(tmp_path):
    path = tmp_path / "1.parquet"
    pq.write_table(changes((1, 2, "insert")), path)
    text = gzip.compress(b"a,b,_change_type\n1,2,delete\n")
    given = [("s3a://b/f/1.parquet", path.read_bytes()), ("s3a://b/f/2.csv.gz", text)]
    feeds = feeds_of(Folder("s3a://b/f", "edge"), given, (), EDGE)
    assert [feed.inserts.tolist() for feed in feeds] == [[True], [False]]
    assert feeds[0].path == "s3a://b/f/1.parquet"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1.csv", 'who,_change_type,amount,note\n"a, b",insert,1.50,n\nc,delete,2,\n'),
        ("1.tsv", "who\t_change_type\tamount\tnote\na, b\tinsert\t1.50\tn\nc\tdelete\t2\t\n"),
        (
            "1.jsonl",
            json.dumps({"who": "a, b", "_change_type": "insert", "amount": 1.5, "note": "n"})
            + "\n"
            + json.dumps({"who": "c", "_change_type": "delete", "amount": 2, "note": ""}),
        ),
    ],
)
def test_text_is_read_with_the_declared_types(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    feed = read(tmp_path, name, vocabulary=SALE, name="sale")["sale"]
    found = net([feed], SALE)
    assert rows(found.insert) == [("a, b", Decimal("1.5"), "n")]
    assert rows(found.delete) == [("c", Decimal(2), "")]
    assert feed.versions is None


def test_versions_in_text_are_numbers(tmp_path):
    (tmp_path / "1.csv").write_text(
        "_commit_version,x,y,_change_type\n7,a,b,insert\n8,a,b,delete\n"
    )
    feed = read(tmp_path, "1.csv", name="edge")["edge"]
    assert feed.versions.tolist() == [7, 8]
    assert net([feed], EDGE).insert == []


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        ("edge/1.nt", "", "D106"),
        ("edge/1.orc", "", "D106"),
        ("edge/1", "", "D106"),
        ("1.csv", "a,b,_change_type\n", "D108"),
        ("a b/1.csv", "a,b,_change_type\n", "D108"),
        ("edge/1.parquet", "not Parquet", "D104"),
        ("edge/1.csv", "a,b\n1,2\n", "D330"),
        ("edge/1.csv", "a,b,_change_type\n1,2\n", "D105"),
        ("edge/1.jsonl", "[1, 2]\n", "D109"),
        ("edge/1.jsonl", '{"a": 1, "b": 2, "_change_type": "insert"}\n', "D306"),
    ],
)
def test_a_file_that_is_no_feed_is_an_error_with_its_path(tmp_path, path, content, code):
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(content)
    with pytest.raises(sl.DataError) as caught:
        read(tmp_path, path)
    assert caught.value.code == code
    assert caught.value.path == str(tmp_path / path)
    assert caught.value.help


def test_sources_are_folders(tmp_path):
    (tmp_path / "file").write_text("")
    assert find_folder(f"edge={tmp_path}", ()) == Folder(str(tmp_path), "edge")
    assert find_folder("s3a://b/f/", ()).root == "s3a://b/f"
    assert find_folder(f"file://{tmp_path}", ()).root == str(tmp_path)
    assert Folder("/a [b]/{c}*").uri == "file:///a \\[b\\]/\\{c\\}\\*"
    with pytest.raises(sl.DataError, match="D100"):
        find_folder(tmp_path / "none", ())
    with pytest.raises(sl.DataError, match="D104"):
        find_folder(tmp_path / "file", ())


# -- output


PATH = Predicate("path", 2)
KNOWS = Predicate("<http://e/knows>", 2)
STREAM = "abcdef0123456789"


def test_output_is_seen_when_its_version_exists(tmp_path):
    table = pa.table({"a": [1, 2], "b": [Decimal("1.5"), Decimal(2)]})
    with opened(tmp_path / "out", tmp_path / "kb") as output:
        token = output.prepare([Changed(PATH, table, 1)], 7, STREAM)
        assert list((tmp_path / "out").glob("[!_]*")) == []
        output.finish({token}, STREAM)
        output.finish({token}, STREAM)
    found = pq.ParquetFile(tmp_path / "out" / "path" / "part-00000007-abcdef01.parquet").read()
    assert found.to_pylist() == [
        {"a": 1, "b": Decimal("1.5"), "_change_type": "delete", "_commit_version": 7},
        {"a": 2, "b": Decimal("2.0"), "_change_type": "insert", "_commit_version": 7},
    ]
    assert list((tmp_path / "out").glob("_pending*")) == []


def test_output_of_a_version_that_never_was_is_removed(tmp_path):
    table = pa.table({"a": [1], "b": [2]})
    with opened(tmp_path / "out", tmp_path / "kb") as output:
        output.prepare([Changed(PATH, table, 0)], 7, STREAM)
        output.prepare([Changed(PATH, table, 0)], 7, "another-stream")
        output.finish(set(), STREAM)
    left = [path.name for path in (tmp_path / "out").glob("_pending*")]
    assert [name.split("-")[1] for name in left] == ["another"]


def test_folders_of_predicates_stay_and_are_told_to_readers(tmp_path):
    table = pa.table({"c0": ["x"], "c1": ["y"]})
    prefixes = (("e", "http://e/"),)
    for version in (1, 2):
        with opened(tmp_path / "out", tmp_path / "kb", prefixes) as output:
            changed = [Changed(KNOWS, table, 0)] + [Changed(PATH, table, 0)] * (version - 1)
            output.finish({output.prepare(changed, version, STREAM)})
    assert sorted(p.name for p in (tmp_path / "out" / "e_knows").iterdir()) == [
        "part-00000001-abcdef01.parquet", "part-00000002-abcdef01.parquet"
    ]  # fmt: skip
    found = read(
        tmp_path / "out", "e_knows/part-00000001-abcdef01.parquet", vocabulary=Vocabulary()
    )
    assert list(found) == [KNOWS.name]


def test_one_stream_writes_to_a_folder(tmp_path):
    with (
        opened(tmp_path / "out", tmp_path / "kb"),
        pytest.raises(sl.StoreError, match="T114"),
        opened(tmp_path / "out", tmp_path / "kb"),
    ):
        pass


def test_output_does_not_go_where_other_things_are(tmp_path):
    kb = sl.materialise(RULES, {"edge": [(1, 2)]}, store=tmp_path / "kb")
    kb.publish(tmp_path / "published")
    for place in ("published", "kb"):
        with (
            pytest.raises(sl.StoreError, match="T108"),
            opened(tmp_path / place, tmp_path / "kb"),
        ):
            pass
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_stratalog.json").write_text("{")
    with pytest.raises(sl.StoreError, match="T103"), opened(tmp_path / "out", tmp_path / "kb"):
        pass
