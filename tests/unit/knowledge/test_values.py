"""Odd values given to public calls are errors with a code, and the knowledge base stays usable."""

from __future__ import annotations

import copy
import decimal
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stratalog as sl

PROGRAM = "p(?x) :- q(?x) ."
FACTS = {"q": [(1,)]}


@pytest.fixture(scope="module")
def kb():
    return sl.materialise(PROGRAM, FACTS, progress=False)


def fails():
    raise KeyError("mine")


CALLS = {
    "query 5": (lambda kb: kb.query(5), "S119"),
    "query bytes": (lambda kb: kb.query(b"q(?x)"), "S119"),
    "limit -1": (lambda kb: kb.facts("q", limit=-1), "E120"),
    "limit a": (lambda kb: kb.facts("q", limit="a"), "E120"),
    "limit 1.5": (lambda kb: kb.facts("q", limit=1.5), "E120"),
    "only 5": (lambda kb: kb.facts("q", only=5), "D322"),
    "only list": (lambda kb: kb.facts("q", only=[]), "D322"),
    "publish nowhere": (lambda kb: kb.publish(None), "E120"),
    "publish zero byte": (lambda kb: kb.publish("a\0b"), "E120"),
    "publish one name": (lambda kb: kb.publish("x", predicates="q"), "E120"),
    "publish number": (lambda kb: kb.publish("x", predicates=5), "E120"),
    "save nowhere": (lambda kb: kb.save(None), "E120"),
    "save no text": (lambda kb: kb.save("a\udcff"), "E120"),
    "save note": (lambda kb: kb.save("x", note=5), "E120"),
    "open nowhere": (lambda _: sl.open(None), "E120"),
    "open version": (lambda _: sl.open("x", version="y"), "E120"),
    "views prefix": (lambda kb: kb.views(prefix=5), "E120"),
    "pickle": (pickle.dumps, "E131"),
    "copy": (copy.copy, "E131"),
    "deepcopy": (copy.deepcopy, "E131"),
    "signalling": (lambda kb: (decimal.Decimal("sNaN"),) in kb["q"], "D202"),
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments_are_errors_with_a_code_and_a_next_step(kb, name):
    call, code = CALLS[name]
    with pytest.raises(sl.StratalogError) as caught:
        call(kb)
    assert caught.value.code == code
    assert caught.value.help
    assert list(kb["p"]) == [(1,)]


OPTIONS = {
    "header": "yes",
    "engine": np.array(["a", "b"]),
    "on_bad_input": None,
    "store": 5,
    "publish": 5,
    "master": 5,
    "progress": 5,
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_a_wrong_type_are_refused(name):
    with pytest.raises(sl.StratalogError) as caught:
        sl.materialise(PROGRAM, FACTS, **{name: OPTIONS[name]})
    assert caught.value.code == "E120"


ROWS = {
    "signalling": ([(decimal.Decimal("sNaN"),)], "D202"),
    "nested": ([((1, [2]),)], "D305"),
    "surrogate": (pd.DataFrame({"a": pd.array(["\ud800"], dtype="string")}), "D202"),
    "datatype": ([(sl.StratalogError,)], "D202"),
}


@pytest.mark.parametrize("name", ROWS)
def test_values_that_are_no_constants_are_told(name):
    rows, code = ROWS[name]
    with pytest.raises(sl.StratalogError) as caught:
        sl.materialise("", {"q": rows}, progress=False)
    assert caught.value.code == code


def test_names_and_datatypes_hold_whole_characters():
    with pytest.raises(sl.StratalogError, match="S112"):
        sl.materialise("", {"<http://e/\ud800>": [(1,)]})
    with pytest.raises(sl.StratalogError, match="D202"):
        sl.materialise("", {"q": [(sl.Literal("a", "http://e/\udfff"),)]})


def test_what_rows_raise_is_the_cause_of_an_error_and_nothing_changes(kb):
    with pytest.raises(sl.StratalogError, match="KeyError: 'mine'") as caught:
        kb.update(insert={"q": (fails() for _ in range(2))})
    assert caught.value.code == "D309"
    assert isinstance(caught.value.__cause__, KeyError)
    assert list(kb["p"]) == [(1,)]


def test_what_a_progress_function_raises_is_the_cause_of_an_error():
    with pytest.raises(sl.StratalogError, match="KeyError") as caught:
        sl.materialise(PROGRAM, FACTS, progress=lambda *_: fails())
    assert caught.value.code == "E132"
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_can_be_printed_whatever_it_names():
    with pytest.raises(sl.StratalogError) as caught:
        sl.materialise("", "\udcff.csv")
    assert "udcff" in str(caught.value).encode().decode()


def test_links_that_lead_back_and_files_that_never_end_are_no_data(tmp_path):
    folder = tmp_path / "t"
    (folder / "day=1").mkdir(parents=True)
    (folder / "day=1" / "a.csv").write_text("1\n")
    (folder / "day=1" / "back").symlink_to(folder)
    with pytest.raises(sl.StratalogError, match="D104"):
        sl.materialise("", folder, progress=False)
    (folder / "day=1" / "back").unlink()
    assert list(sl.materialise("", folder, progress=False)["t"]) == [("1", "1")]
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.warns(sl.StratalogWarning, match="W320: passed over: no ordinary file"):
        assert sl.materialise("", tmp_path, progress=False).predicates() == ["t"]


def test_a_folder_whose_name_is_no_text_gives_no_column(tmp_path):
    folder = os.fsencode(tmp_path / "t") + b"/day=\xff"
    inner = Path(os.fsdecode(folder))
    inner.mkdir(parents=True)
    (inner / "a.csv").write_text("1\n")
    with pytest.raises(sl.StratalogError, match="D102"):
        sl.materialise("", tmp_path / "t", progress=False)


def test_a_path_that_is_too_long_is_told():
    with pytest.raises(sl.StratalogError, match="D104"):
        sl.materialise("", "x" * 5000 + ".csv")
