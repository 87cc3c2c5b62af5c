"""Warnings come by Python's own way, at the line of the user's call."""

import logging
import warnings

import pytest

import stratalog as sl
from stratalog.runtime.telling import Warned, tell

FOUND = sl.StratalogWarning("W301", "p has no facts", path="f.dlog", line=2, help="give some")


def test_a_warning_has_the_parts_of_an_error():
    assert (FOUND.code, FOUND.path, FOUND.line, FOUND.help) == ("W301", "f.dlog", 2, "give some")
    assert str(FOUND) == "W301: p has no facts\n  f.dlog:2\n  help: give some"
    assert issubclass(sl.StratalogWarning, UserWarning)
    assert not issubclass(sl.StratalogWarning, sl.StratalogError)


def test_a_warning_points_at_the_call_that_is_not_ours():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tell(FOUND)
        Warned().tell([FOUND])
    assert [each.filename for each in told] == [__file__, __file__]
    assert told[1].lineno == told[0].lineno + 1
    assert told[0].message is FOUND
    assert told[0].category is sl.StratalogWarning


def test_a_call_tells_each_warning_once():
    warned = Warned()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warned.tell([FOUND, FOUND])
        warned.tell([FOUND])
    assert len(told) == 1
    assert warned.texts == [str(FOUND)]


def test_filters_know_the_category():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sl.StratalogWarning)
        tell(FOUND)
        warnings.simplefilter("error", sl.StratalogWarning)
        with pytest.raises(sl.StratalogWarning) as caught:
            tell(FOUND)
    assert caught.value.code == "W301"


def test_logs_hear_of_warnings_without_showing_them_twice(caplog):
    with caplog.at_level(logging.INFO, "stratalog"), pytest.warns(sl.StratalogWarning):
        tell(FOUND)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", str(FOUND))
    ]
