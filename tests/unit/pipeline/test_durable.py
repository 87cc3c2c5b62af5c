"""Errors of the operating system become errors with a code and advice that fits."""

import errno

import pytest

import stratalog as sl
from stratalog.pipeline.durable import failures


def test_a_lost_connection_is_no_fault_of_the_disk(tmp_path):
    with pytest.raises(sl.EngineError) as told, failures(tmp_path, "write to the store"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert told.value.code == "E204"
    assert "disk" not in str(told.value)


def test_a_full_disk_is_told_with_the_file_that_met_it(tmp_path):
    place = str(tmp_path / "a")
    with pytest.raises(sl.StoreError, match="T106") as told, failures(tmp_path, "write"):
        raise OSError(errno.ENOSPC, "No space left on device", place)
    assert place in str(told.value)
    assert "free some space" in str(told.value)
