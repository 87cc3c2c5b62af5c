"""Tables of Delta Lake on the command line."""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def test_the_command_reads_and_deletes_the_rows_that_count(command):
    write_deltalake("edge", pa.table({"a": ["x", "y"], "b": ["y", "z"]}))
    write_deltalake("edge", pa.table({"a": ["p"], "b": ["q"]}), mode="append")
    DeltaTable("edge").delete("a = 'y'")
    Path("rules.dlog").write_text("path(?x, ?y) :- edge(?x, ?y) .")
    assert command("materialise", "rules.dlog", "edge@v0", "--store", "s").status == 0
    answers = ("query", "s", "path(?x, ?y)", "--sorted", "--format", "csv")
    assert command(*answers).lines == ["x,y", "y,z"]
    assert command("update", "s", "--delete", "edge=edge").status == 0
    assert command(*answers).lines == ["y,z"]
    assert command("update", "s", "--insert", "edge").status == 0
    assert command(*answers).lines == ["p,q", "x,y", "y,z"]
    refused = command("update", "s", "--insert", "edge=edge/*.parquet")
    assert refused.status == 1
    assert refused.err.startswith("D131")
