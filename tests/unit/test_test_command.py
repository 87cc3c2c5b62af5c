"""The test command: which parts and tests are run for which options."""

import pytest

from tests.__main__ import FAST, PARTS, parse, selected


def test_without_options_all_parts_are_run():
    parts, run = parse([])
    assert parts == list(PARTS)
    assert (selected(run, "not spark"), selected(run, "spark")) == ("not spark", "spark")


def test_fast_runs_format_to_tests_without_slow_ones():
    parts, run = parse(["--fast"])
    assert parts == list(FAST) == ["format", "lint", "types", "imports", "tests"]
    assert selected(run, "not spark") == "not spark and not slow"


def test_what_needs_spark_is_a_part_of_its_own():
    assert parse(["--spark"])[0] == ["spark"]
    parts, run = parse(["--spark", "--fast"])
    assert parts == ["spark"]
    assert selected(run, "spark") == "spark and not slow"


def test_marks_that_are_asked_for_are_added_and_all_else_is_passed_on():
    parts, run = parse(["--only", "tests", "-m", "slow or long", "-k", "negation", "-x"])
    assert parts == ["tests"]
    assert selected(run, "not spark") == "not spark and (slow or long)"
    assert run.pytest == ["-k", "negation", "-x"]


def test_parts_that_do_not_exist_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse(["--only", "tests,sparks"])
    assert "no part sparks; the parts are format, lint" in capsys.readouterr().err
