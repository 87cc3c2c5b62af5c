"""What Ctrl-C says of a command: what had been written, however late the command is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stratalog.errors import StoreError

NOTHING = "nothing was written"

_changes: list[Callable[[], str | None]] = []  # of this process's command


def begin() -> None:
    """Forget the commands before this one."""
    _changes.clear()


def will_write(change: Callable[[], str | None]) -> None:
    """Tell how to find out what has been written so far, None for nothing."""
    _changes.append(change)


def will_write_store(store: Path, before: int) -> None:
    """Say later which version has been written, if a store has another one than before."""

    def change() -> str | None:
        try:
            now = current_version(store)
        except StoreError:
            return "the store cannot be read any more"
        return None if now == before else f"version {now} had been written"

    will_write(change)


def will_write_file(output: object | None) -> None:
    """Say later that a file or folder, if there is to be one, appears when it is whole."""
    if output is not None:
        will_write(lambda: f"what is in {output} is whole")


def what_was_written() -> str:
    """Return in words what the command has written so far."""
    found = [text for change in _changes if (text := change())]
    return ", ".join(found) or NOTHING


def current_version(store: Path) -> int:
    """Return the store's current version, 0 if it is new; an error if it cannot be made there."""
    from stratalog.pipeline.layout import foreign_names
    from stratalog.pipeline.store import Store

    try:
        return Store.open(store).version
    except StoreError as error:
        if error.code != "T101":
            raise
    if store.exists() and not store.is_dir():
        raise StoreError(
            "T108", "a store is a folder, this is a file", path=str(store), help="name a new folder"
        )
    if foreign := foreign_names(store):
        raise StoreError(
            "T108",
            f"the folder holds other files ({', '.join(foreign[:3])})",
            path=str(store),
            help="name a new or empty folder for the store",
        )
    return 0
