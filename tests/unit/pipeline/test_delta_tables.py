"""Tables of Delta Lake, read as their log says; `DeltaTable.scan` is the judge."""

from __future__ import annotations

import datetime as dt
import os
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from stratalog.lang.parse import parse_program
from stratalog.pipeline import table_files
from tests.lakes import DeltaLog, as_rows, inline_vector, read, refused


def judged(folder, version=None):
    return as_rows(pa.table(DeltaTable(folder, version=version).scan()))


def declared(text):
    return {"declarations": parse_program(f"@declare {text} .").declarations}


@pytest.fixture
def table(tmp_path):
    """Version 0 has two rows, 1 has three, 2 lacks one of the first."""
    folder = tmp_path / "edge"
    write_deltalake(folder, pa.table({"a": ["x", "y"], "n": [1, 2]}))
    write_deltalake(folder, pa.table({"a": ["p"], "n": [3]}), mode="append")
    DeltaTable(folder).delete("a = 'y'")
    return folder


def test_deleted_rows_do_not_come_back(table):
    assert read(table) == {"edge": [("p", 3), ("x", 1)]}


def test_versions_are_chosen_by_number(table):
    assert read(f"{table}@v0") == {"edge": [("x", 1), ("y", 2)]}
    assert read(f"p={table}@1") == {"p": judged(table, 1)}
    error = refused(f"p={table}@v3")
    assert (error.code, "newest is 2" in error.help) == ("D133", True)
    assert refused(f"p={table}@main").code == "D133"


def test_a_column_that_divides_the_table_has_the_type_and_place_of_the_table(tmp_path):
    day = dt.date(2026, 1, 31)
    at = dt.datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=dt.UTC)
    data = {
        "day": pa.array([day, None, day]),
        "n": [1, 2, 3],
        "k é": ["a b", "c:/d%20", "?#&="],
        "at": pa.array([at, at, None], pa.timestamp("us", "UTC")),
        "d": pa.array([Decimal("1.50"), None, Decimal("2.00")], pa.decimal128(5, 2)),
        "yes": [True, False, None],
        "x": [0.5, None, -0.25],
    }
    folder = tmp_path / "t"
    by = ["day", "k é", "at", "d", "yes", "x"]
    write_deltalake(folder, pa.table(data), partition_by=by)
    types = "t(day date?, n integer, k string = 'k é', at dateTime?, d decimal?, yes boolean?)"
    found = read(folder, **declared(types.replace("'", '"')))["t"]
    assert [(row[0], row[1], row[2]) for row in found] == [(day, 1, "a b")]
    whole = pa.table(data).drop_columns(["at", "yes", "x", "d", "day"])
    assert read(folder, **declared('t(n integer, k string = "k é")'))["t"] == as_rows(
        whole.select(["n", "k é"])
    )


def test_values_of_dividing_columns_are_those_that_the_package_reads(tmp_path):
    folder = tmp_path / "t"
    data = pa.table({"n": [1, 2], "x": [0.5, -0.25], "y": [True, False], "k": ["", "é/ü"]})
    write_deltalake(folder, data, partition_by=["x", "y"])
    assert read(folder)["t"] == judged(folder)


def test_an_empty_text_that_divides_a_table_is_null_as_the_protocol_says(tmp_path):
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({"n": [1, 2], "k": ["", "a"]}), partition_by=["k"])
    assert read(folder, **declared("t(n integer, k string?)"))["t"] == [(2, "a")]
    assert refused(folder).code == "D304"


def test_columns_come_later_and_grow_wider(tmp_path):
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({"n": pa.array([1], pa.int32())}))
    more = pa.table({"n": pa.array([2], pa.int32()), "m": ["new"]})
    write_deltalake(folder, more, mode="append", schema_mode="merge")
    assert read(folder, **declared("t(n integer, m string?)")) == {"t": [(2, "new")]}
    assert refused(folder).code == "D304"  # the older row has null there
    log = DeltaLog(
        tmp_path / "w", [{"name": "n", "type": "long"}, {"name": "x", "type": "double"}],
        features=["typeWidening"],
    )  # fmt: skip
    narrow = {"n": pa.array([1], pa.int16()), "x": pa.array([1.5], pa.float32())}
    log.add("a.parquet", pa.table(narrow))
    log.add("b.parquet", pa.table({"n": [1 << 40], "x": [0.1]}))
    assert read(tmp_path / "w") == {"w": [(1, 1.5), (1 << 40, 0.1)]}


def mapped(name, physical, number, kind="string"):
    told = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "metadata": told}


def with_ids(table, *numbers):
    fields = [
        field.with_metadata({"PARQUET:field_id": str(number)})
        for field, number in zip(table.schema, numbers, strict=True)
    ]
    return table.cast(pa.schema(fields))


def test_renamed_columns_are_found_by_their_physical_names(tmp_path):
    fields = [mapped("b", "a", 1), mapped("a", "col-7f", 2), mapped("k", "col-k", 3)]
    log = DeltaLog(
        tmp_path / "t", fields, features=["columnMapping"], partitions=["k"],
        configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    table = pa.table({"a": ["was a"], "col-7f": ["came later"]})
    log.add("x/one.parquet", table, {"col-k": "k1"})
    log.add("y/two.parquet", pa.table({"a": ["old"], "b": ["dropped"]}), {"col-k": None})
    assert judged(tmp_path / "t") == [("old", None, None), ("was a", "came later", "k1")]
    found = read(tmp_path / "t", **declared("t(a string?, b string, k string?)"))
    assert found == {"t": [("came later", "was a", "k1")]}
    assert read(tmp_path / "t", **declared("t(b string)")) == {"t": [("old",), ("was a",)]}


def test_columns_mapped_by_id_are_found_by_their_ids(tmp_path):
    log = DeltaLog(
        tmp_path / "t", [mapped("b", "p1", 1), mapped("a", "p2", 2)], features=["columnMapping"],
        configuration={"delta.columnMapping.mode": "id"},
    )  # fmt: skip
    log.add("one.parquet", with_ids(pa.table({"p1": ["is b"], "p2": ["is a"]}), 1, 2))
    assert read(tmp_path / "t") == {"t": judged(tmp_path / "t")} == {"t": [("is b", "is a")]}
    # Names do not count then, as the protocol says; `scan` would follow them.
    log.add("two.parquet", with_ids(pa.table({"p2": ["is b"], "old": ["is a"]}), 1, 2))
    assert read(tmp_path / "t") == {"t": [("is b", "is a")] * 2}


def test_renamed_fields_of_structs_are_found_too(tmp_path):
    inner = {"type": "struct", "fields": [mapped("id", "col-id", 3, "long") | {"nullable": True}]}
    log = DeltaLog(
        tmp_path / "t", [mapped("n", "n", 1, "long"), mapped("buyer", "col-b", 2, inner)],
        features=["columnMapping"], configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    buyers = pa.array([{"col-id": 5}, None], pa.struct([("col-id", pa.int64())]))
    log.add("one.parquet", pa.table({"n": [1, 2], "col-b": buyers}))
    found = read(tmp_path / "t", **declared('t(n integer, b integer? = "buyer.id")'))
    assert found == {"t": [(1, 5)]}


def test_rows_of_deletion_vectors_are_left_out(tmp_path, monkeypatch):
    log = DeltaLog(
        tmp_path / "t", [{"name": "n", "type": "long"}, {"name": "k", "type": "string"}],
        features=["deletionVectors"], partitions=["k"],
    )  # fmt: skip
    log.add("k=a b/one.parquet", pa.table({"n": list(range(9))}), {"k": "a b"}, deleted=[0, 3, 8])
    log.add("k=c/two.parquet", pa.table({"n": [100, 101]}), {"k": "c"})
    log.add("k=d/all.parquet", pa.table({"n": [7]}), {"k": "d"}, deleted=[0])
    monkeypatch.setattr(table_files, "PARQUET_ROWS", 4)  # batches end within the file
    found = read(tmp_path / "t")["t"]
    assert found == judged(tmp_path / "t")
    assert [n for n, _ in found] == [1, 100, 101, 2, 4, 5, 6, 7]
    assert read(f"{tmp_path}/t@v1") == {"t": judged(tmp_path / "t", 1)}
    assert read(tmp_path / "t", **declared("t(k string)"))["t"][-1] == ("c",)


def test_a_vector_that_replaces_another_counts_alone(tmp_path):
    log = DeltaLog(tmp_path / "t", [{"name": "n", "type": "long"}], features=["deletionVectors"])
    log.add("a.parquet", pa.table({"n": [0, 1, 2, 3]}), deleted=[1])
    removed = {"path": "a.parquet", "deletionTimestamp": 1, "dataChange": True}
    again = {
        "path": "a.parquet", "partitionValues": {}, "modificationTime": 1,
        "size": (log.folder / "a.parquet").stat().st_size,
        "dataChange": True, "deletionVector": inline_vector([1, 2]), "stats": '{"numRecords": 4}',
    }  # fmt: skip
    log.commit([{"remove": removed | {"deletionVector": inline_vector([1])}}, {"add": again}])
    assert read(tmp_path / "t") == {"t": [(0,), (3,)]}
    assert judged(tmp_path / "t") == [(0,), (3,)]


def test_what_the_log_asks_of_readers_and_is_not_known_is_refused(tmp_path):
    fields = [{"name": "n", "type": "long"}]
    for feature in ("timestampNanos", "somethingNew"):
        DeltaLog(tmp_path / feature, fields, features=[feature]).add(
            "a.parquet", pa.table({"n": [1]})
        )
        assert refused(tmp_path / feature).code in {"D132", "D134"}


@pytest.mark.parametrize("seed", range(6))
def test_any_history_reads_as_the_package_reads_it(tmp_path, seed):
    chance = random.Random(seed)
    folder = tmp_path / "t"
    keys = ["z", "a b", "é", None, "x/y", "100%"]
    by = chance.choice([None, ["k"], ["k", "g"]])

    def some():
        size = chance.randrange(1, 30)
        columns = {
            "n": [chance.randrange(50) for _ in range(size)],
            "k": pa.array([chance.choice(keys) for _ in range(size)], pa.string()),
            "g": pa.array([chance.choice([1, 2, None]) for _ in range(size)], pa.int64()),
        }
        return pa.table(columns)

    write_deltalake(folder, some(), partition_by=by)
    for _ in range(chance.randrange(3, 8)):
        step = chance.random()
        table = DeltaTable(folder)
        if step < 0.4:
            write_deltalake(folder, some(), mode="append")
        elif step < 0.7:
            table.delete(f"n % 7 = {chance.randrange(7)}")
        elif step < 0.8:
            table.update(predicate=f"n < {chance.randrange(20)}", updates={"n": "n + 100"})
        elif step < 0.9:
            table.optimize.compact()
        else:
            table.create_checkpoint()
    types = declared("t(n integer, k string?, g integer?)")
    for version in range(DeltaTable(folder).version() + 1):
        wanted = [row for row in judged(folder, version) if None not in row]
        assert read(f"{folder}@v{version}", **types)["t"] == wanted


def test_a_table_without_rows_has_its_columns(tmp_path):
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({"a": ["x"], "b": ["y"]}))
    DeltaTable(folder).delete()
    assert read(folder) == {"t": []}
    assert refused(folder, arities={"t": {3}}).code == "D301"


def test_only_the_columns_that_are_needed_are_read(table, monkeypatch):
    asked = []
    batches = table_files._Parquet.batches

    def watched(self, parts, columns):
        asked.append(columns)
        return batches(self, parts, columns)

    monkeypatch.setattr(table_files._Parquet, "batches", watched)
    assert read(table, **declared("edge(n integer)")) == {"edge": [(1,), (3,)]}
    assert asked == [["n"]] * len(asked)


def test_times_of_96_bits_are_moments_and_far_ones_do_not_wrap(tmp_path):
    log = DeltaLog(tmp_path / "t", [{"name": "at", "type": "timestamp"}])
    times = [
        dt.datetime(9999, 12, 31, 1, 2, 3, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 31, tzinfo=dt.UTC),
    ]
    (tmp_path / "t").mkdir(exist_ok=True)
    pq.write_table(
        pa.table({"at": pa.array(times, pa.timestamp("us"))}), tmp_path / "t" / "a.parquet",
        use_deprecated_int96_timestamps=True,
    )  # fmt: skip
    log.add("a.parquet")
    assert read(tmp_path / "t")["t"] == [(each,) for each in times[::-1]]


def test_folders_may_have_any_name(tmp_path):
    folder = tmp_path / "a b#é=+" / "t"
    folder.parent.mkdir()
    write_deltalake(folder, pa.table({"a": ["x"], "k": ["a b"]}), partition_by=["k"])
    assert read(f"t={folder}") == {"t": [("x", "a b")]}


def test_a_file_that_is_gone_is_told(table):
    kept = set(DeltaTable(table).file_uris())
    for path in table.glob("*.parquet"):
        if str(path) not in kept:
            path.unlink()
    assert read(table) == {"edge": [("p", 3), ("x", 1)]}
    error = refused(f"{table}@v0")
    assert (error.code, error.path) == ("D134", str(table))


def test_a_damaged_log_is_told(table):
    for log in (table / "_delta_log").glob("*.json"):
        log.write_text('{"protocol": ')
    assert refused(table).code == "D134"
    for log in (table / "_delta_log").iterdir():
        log.unlink()
    assert refused(table).code == "D134"


def test_a_file_that_does_not_fit_the_table_is_told(tmp_path):
    log = DeltaLog(tmp_path / "t", [{"name": "n", "type": "long"}])
    log.add("a.parquet", pa.table({"n": ["no number"]}))
    assert refused(tmp_path / "t").code == "D134"
    (tmp_path / "t" / "a.parquet").write_bytes(b"PAR1")
    assert refused(tmp_path / "t").code == "D104"


@pytest.mark.parametrize(
    "elsewhere",
    ["../secret.parquet", "a/../../secret.parquet", "s3://bucket/secret.parquet", "{outside}",
     "file://{outside}", "http://127.0.0.1:1/secret.parquet", "//{outside}"],
)  # fmt: skip
def test_a_log_that_leads_out_of_its_folder_is_refused(tmp_path, elsewhere):
    outside = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"n": [42]}), outside)
    log = DeltaLog(tmp_path / "t", [{"name": "n", "type": "long"}])
    log.add(elsewhere.format(outside=outside))
    error = refused(tmp_path / "t")
    assert (error.code, error.path) == ("D135", str(tmp_path / "t"))


def test_a_deletion_vector_elsewhere_is_not_looked_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    pipe = f"file://{tmp_path}/pipe.bin"
    for path in ("s3://bucket/v.bin", "http://127.0.0.1:1/v.bin", "/etc/hostname", pipe):
        log = DeltaLog(
            tmp_path / path[:6].strip(":/").replace("/", "-"),
            [{"name": "n", "type": "long"}], features=["deletionVectors"],
        )  # fmt: skip
        vector = {"storageType": "p", "pathOrInlineDv": path, "offset": 1, "sizeInBytes": 9}
        log.add("a.parquet", pa.table({"n": [1]}), vector=vector | {"cardinality": 1})
        assert refused(f"t={log.folder}").code == "D135"
        DeltaTable(log.folder).create_checkpoint()
        (log.folder / "_delta_log" / "00000000000000000001.json").unlink()
        assert refused(f"t={log.folder}").code == "D135"


def test_pipes_in_a_log_or_as_a_deletion_vector_are_not_opened(table, tmp_path):
    log = DeltaLog(tmp_path / "t", [{"name": "n", "type": "long"}], features=["deletionVectors"])
    os.mkfifo(log.folder / "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin")
    vector = {"storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1}
    vector |= {"sizeInBytes": 36, "cardinality": 2}
    log.add("a.parquet", pa.table({"n": [1, 2, 3]}), vector=vector)
    assert refused(log.folder).code == "D134"
    for name in ("_last_checkpoint", f"{3:020}.json"):
        os.mkfifo(table / "_delta_log" / name)
        assert refused(table).code == "D134"
        (table / "_delta_log" / name).unlink()


def test_a_pipe_in_the_place_of_a_file_is_not_opened(tmp_path):
    log = DeltaLog(tmp_path / "t", [{"name": "n", "type": "long"}])
    os.mkfifo(tmp_path / "t" / "a.parquet")
    log.add("a.parquet")
    assert refused(tmp_path / "t").code == "D134"
