"""Files of data that were changed at random are refused with a code, or read."""

import pytest

from tests.fuzz.file_cases import FORMATS, read, run, sound

CASES = 200  # of each format; the long run has ten times as many


@pytest.mark.parametrize("name", FORMATS)
def test_files_with_changed_bytes_are_refused_with_a_code_or_read(name):
    ends = run(0, CASES, [name])
    assert sum(ends.values()) == CASES
    assert len(ends) > 1


@pytest.mark.parametrize("name", FORMATS)
def test_files_that_are_not_changed_are_read(tmp_path, name):
    path = tmp_path / f"d.{name}"
    path.write_bytes(sound(name))
    facts, bad = read(path, name, "error", header=name.startswith("csv"))
    assert facts
    assert not bad
