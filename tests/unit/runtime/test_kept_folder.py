"""Where compiled kernels cannot be kept, a warning names the folder and the variable."""

import os

import pytest

import stratalog as sl
from stratalog.runtime.private_folder import kept_folder


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Folders of caches and temporary files that are this test's own."""
    monkeypatch.delenv("STRATALOG_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path


def block(place):
    """Let no folder be made there, whoever runs the tests."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a file")


def kept():
    return kept_folder("kept", "compiled kernels")


def test_the_usual_and_the_chosen_folder_give_no_warning(places, monkeypatch):
    assert kept() == places / "home" / "stratalog" / "kept"
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(places / "mine"))
    assert kept() == places / "mine" / "kept"


def test_another_folder_is_named_beside_the_one_that_was_wanted(places):
    block(places / "home" / "stratalog")
    with pytest.warns(sl.StratalogWarning) as caught:
        folder = kept()
    other = places / "temporary" / f"stratalog-{os.getuid()}"
    assert folder == other / "kept"
    told = caught[0].message
    assert told.code == "E141"
    assert str(told) == (
        f"E141: compiled kernels cannot be kept in {places / 'home' / 'stratalog'}, but in {other}"
        "\n  help: set STRATALOG_CACHE_DIR to a folder of your own that can be written to"
    )


def test_a_chosen_folder_that_cannot_be_used_is_named(places, monkeypatch):
    block(places / "mine")
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(places / "mine"))
    with pytest.warns(sl.StratalogWarning, match=r"E141: .* kept in .*/mine, but in .*/home"):
        assert kept() == places / "home" / "stratalog" / "kept"


def test_a_folder_that_ends_with_the_process_is_told_as_such(places):
    block(places / "home" / "stratalog")
    block(places / "temporary" / f"stratalog-{os.getuid()}")
    with pytest.warns(sl.StratalogWarning, match="gone when this process ends"):
        assert kept().parent.parent == places / "temporary"
