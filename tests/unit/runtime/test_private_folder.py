"""Files that are executed are kept only where no other user can put or change them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stratalog.errors import StratalogError
from stratalog.runtime.locks import open_lock
from stratalog.runtime.private_folder import fresh_folder, private_folders

STRANGER = 4243


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the folders of caches and temporary files, which are all this test's own."""
    monkeypatch.delenv("STRATALOG_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path


def first(name: str = "kept") -> Path:
    return next(private_folders(name))


def writable_by_all(path: Path) -> None:
    path.chmod(0o777 if path.is_dir() else 0o666)


def test_the_same_folder_of_the_user_comes_again(places):
    assert first() == places / "home" / "stratalog" / "kept"
    (first() / "index").touch()
    assert first() == places / "home" / "stratalog" / "kept"
    assert first().parent.stat().st_mode & 0o777 == 0o700


def test_where_others_can_write_the_next_place_is_taken(places):
    kept = first()
    kept.parent.chmod(0o777)
    temporary = places / "temporary" / f"stratalog-{os.getuid()}" / "kept"
    assert first() == temporary
    temporary.parent.chmod(0o777)
    fresh = first()
    assert fresh.parent.parent == places / "temporary"
    assert fresh.parent not in {temporary.parent, first().parent}
    assert not [*fresh.iterdir()]


@pytest.mark.parametrize("inner", ["index", "bin/java"])
@pytest.mark.parametrize("change", ["file", "folder", "link"])
def test_what_is_in_the_folder_is_looked_at_too(places, inner, change):
    kept = first()
    file = kept / inner
    file.parent.mkdir(exist_ok=True)
    file.touch()
    kept.parent.chmod(0o755)
    kept.chmod(0o755)
    file.parent.chmod(0o755)
    assert first() == kept
    if change == "link":
        file.unlink()
        file.symlink_to(places / "elsewhere")
    else:
        writable_by_all(file if change == "file" else file.parent)
    assert first() != kept


def test_files_in_a_folder_that_others_cannot_enter_are_theirs_in_no_mode(places):
    writable_by_all(first())
    (first() / "index").touch()
    writable_by_all(first() / "index")
    assert first() == places / "home" / "stratalog" / "kept"


def test_a_link_is_not_followed(places):
    (places / "target").mkdir()
    (places / "home").mkdir()
    (places / "home" / "stratalog").symlink_to(places / "target")
    assert "temporary" in first().parts
    assert not [*(places / "target").iterdir()]


def test_no_folder_above_may_be_replaced_by_others(places):
    kept = first()
    (places / "home").chmod(0o777)
    assert first() != kept
    (places / "home").chmod(0o1777)
    assert first() == kept


def test_a_chosen_folder_that_others_can_write_to_is_an_error(places, monkeypatch):
    chosen = places / "chosen"
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(chosen))
    assert first() == chosen / "kept"
    chosen.chmod(0o777)
    with pytest.raises(StratalogError) as caught:
        first()
    assert (caught.value.code, caught.value.path) == ("E130", str(chosen))
    assert "STRATALOG_CACHE_DIR" in caught.value.help


def test_a_chosen_place_that_can_be_no_folder_is_passed_over(places, monkeypatch):
    (places / "file").touch()
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(places / "file"))
    assert first() == places / "home" / "stratalog" / "kept"


def test_without_a_safe_temporary_folder_there_is_no_fresh_one(places):
    (places / "temporary").chmod(0o777)
    with pytest.raises(StratalogError, match="E130"):
        fresh_folder("x-")


def test_a_fresh_folder_ends_with_its_process(places):
    program = (
        "from stratalog.runtime.private_folder import fresh_folder;"
        "f = fresh_folder('x-'); print(f, f.is_dir(), oct(f.stat().st_mode & 0o777))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(places)}, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert told[1:] == ["True", "0o700"]
    assert not Path(told[0]).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser can make files of other users")
@pytest.mark.parametrize("inner", ["", "kept", "kept/index"])
@pytest.mark.usefixtures("places")
def test_another_users_folder_or_file_is_never_used(inner):
    kept = first()
    (kept / "index").touch()
    os.chown(kept.parent / inner, STRANGER, STRANGER)
    assert first() != kept


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_locks_are_ordinary_files_and_opened_without_waiting(tmp_path, make):
    make(tmp_path / "lock")
    with pytest.raises(OSError, match=r"ordinary|symbolic"):
        open_lock(tmp_path / "lock", os.O_CREAT)
    assert not (tmp_path / "elsewhere").exists()
