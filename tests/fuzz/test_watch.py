"""The watch sees what it is there to see, and lets ordinary work be."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import stratalog as sl
from tests.fuzz.watch import NotAllowed, watched


def test_reasoning_with_a_store_does_nothing_that_is_not_allowed(tmp_path):
    with watched(writable=[tmp_path]) as seen:
        kb = sl.materialise("p(?x) :- q(?x) .", {"q": [(1,)]}, store=tmp_path, progress=False)
        kb.update(insert={"q": [(2,)]})
        assert sl.open(tmp_path).query("p(?x)").num_rows == 2
    assert not seen


@pytest.mark.parametrize(
    "action",
    [
        lambda _: subprocess.run([sys.executable, "-c", ""], check=False),
        lambda _: os.system("true"),
        lambda _: socket.socket(),
        lambda _: Path("/etc/passwd").read_bytes(),
        lambda _: list(Path("/etc").iterdir()),
        lambda folder: (folder.parent / "beside").write_text("x"),
        lambda folder: (folder / "link").read_text(),
        lambda folder: (folder / "own").rename(folder.parent / "beside"),
    ],
)
def test_what_is_not_allowed_is_refused_and_noted(tmp_path, action):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own").write_text("x")
    (folder / "link").symlink_to("/etc/passwd")
    with watched(writable=[folder]) as seen, pytest.raises(NotAllowed):
        action(folder)
    assert seen
    assert not (tmp_path / "beside").exists()


def test_what_may_be_read_may_not_be_written(tmp_path):
    readable = tmp_path / "data"
    readable.mkdir()
    (readable / "a").write_text("x")
    with watched(writable=[], readable=[readable]) as seen:
        assert (readable / "a").read_text() == "x"
        assert not seen
        with pytest.raises(NotAllowed):
            (readable / "a").unlink()
    assert len(seen) == 1


def test_removing_a_folder_is_seen_by_where_it_is(tmp_path):
    for name in ("mine", "other"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "file").write_text("x")
    with watched(writable=[tmp_path / "mine"]) as seen:
        shutil.rmtree(tmp_path / "mine" / "inner")
        assert not seen
        with pytest.raises(NotAllowed):
            shutil.rmtree(tmp_path / "other")
    assert (tmp_path / "other" / "inner" / "file").exists()
