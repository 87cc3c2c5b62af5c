"""Folders that an image brings along are read, and not written to."""

import os
from pathlib import Path

import pytest

from stratalog.runtime.private_folder import CHOSEN, brought_folder, private_folders


@pytest.fixture
def image(tmp_path, monkeypatch):
    """A folder that this user cannot write to; root can write to any, and is told otherwise."""
    folder = tmp_path / "image"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "merge.kernel").write_bytes(b"compiled")
    real = os.access

    def access(path, mode):
        inside = Path(path).resolve().is_relative_to(folder)
        return real(path, mode) and not (inside and mode == os.W_OK)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setenv(CHOSEN, str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return folder


def test_a_folder_that_is_read_only_is_read(image):
    assert brought_folder("kernels") == image / "kernels"


def test_what_is_new_goes_to_the_users_own_folder(image):
    found = next(private_folders("kernels"))
    assert found.is_relative_to(image.parent / "home")


def test_a_file_that_others_can_write_is_not_read(image):
    (image / "kernels" / "merge.kernel").chmod(0o666)
    assert brought_folder("kernels") is None


def test_a_link_among_the_files_is_not_followed(image):
    (image / "kernels" / "link.kernel").symlink_to(image / "kernels" / "merge.kernel")
    assert brought_folder("kernels") is None


def test_a_folder_that_can_be_written_to_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv(CHOSEN, str(tmp_path / "own"))
    assert next(private_folders("kernels")) == tmp_path / "own" / "kernels"
    assert brought_folder("kernels") is None
