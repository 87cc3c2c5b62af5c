"""Cells are chosen, marked and let go by what the driver knows of them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from stratalog.engine.spark.segments import Contribution, Key, Segment, Table


class Rows:
    """Something written, that remembers whether it was freed."""

    def __init__(self) -> None:
        self.is_freed = False

    def free(self) -> None:
        self.is_freed = True


def segment(labels: dict[Key, int]) -> Segment:
    rows = dict.fromkeys(labels, 10)
    return Segment(0, cast("Any", Rows()), "SELECT 1", rows, dict(labels))


CELLS = {Key(1, 0): 3, Key(1, 2): 2, Key(2, 0): 3, Key(3, 2): 2}


@pytest.mark.parametrize(
    ("cells", "condition"),
    [
        (set(CELLS), "true"),
        (set(), "false"),
        ({Key(2, 0), Key(3, 2)}, "p IN (2, 3)"),
        ({Key(1, 2), Key(3, 2)}, "w IN (2)"),
        ({Key(1, 2)}, "p * 4096 + w IN (4098)"),
    ],
)
def test_a_condition_is_as_short_as_the_cells_allow(cells: set[Key], condition: str):
    assert segment(CELLS).where(cells) == condition


def test_rows_of_cells_that_were_dropped_are_not_read():
    some = segment(CELLS)
    del some.labels[Key(3, 2)]
    assert some.where(some.labels) == "p IN (1, 2)"


def test_a_label_is_told_by_cases_only_where_cells_differ():
    some = segment(CELLS)
    assert some.label([Key(1, 0), Key(2, 0)]) == "3"
    assert some.label(CELLS) == "CASE WHEN w IN (0) THEN 3 WHEN w IN (2) THEN 2 END"


def test_marks_come_and_go_by_cell():
    some = segment(CELLS)
    some.change([Key(1, 0)], 8, is_set=True)
    some.change([Key(2, 0)], 1, is_set=False)
    assert some.labels == CELLS | {Key(1, 0): 11, Key(2, 0): 2}
    assert some.chosen(lambda p, label: p < 3 and label & 2 > 0) == set(CELLS) - {Key(3, 2)}


def test_what_was_written_is_freed_when_nobody_uses_it():
    table = Table(2)
    written: Any = Rows()
    made = table.add(written, "SELECT 1", {Key(1): 5})
    counted = Contribution(written, "SELECT 2", frozenset({1}))
    table.contributions.append(counted)
    table.drop([made])
    assert not written.is_freed
    table.drop([counted])
    assert written.is_freed
