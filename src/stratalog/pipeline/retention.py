"""Dropping versions: those beyond the newest N, or one that is named.

Versions are a chain: a commit uses files of the version before it again and of no other, so what
the oldest versions have and the next one has not, no version has. Two manifests tell what can go.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from stratalog.errors import StoreError
from stratalog.pipeline import history, layout
from stratalog.pipeline.durable import flush_folder, lock_alone, shared_lock, write_file
from stratalog.pipeline.manifest import dropped_bytes


def kept(options: object) -> int | None:
    """Return how many versions stay according to saved options; None if all do."""
    number = options.get("keep") if isinstance(options, dict) else None
    return number if type(number) is int and number > 0 else None


def retire(root: Path, keep: int) -> list[int]:
    """Drop all but the newest `keep` versions; return the numbers of those that went."""
    if len(layout.numbers(root)) <= keep:
        return []
    with lock_alone(root / layout.LOCK) as is_alone:
        if is_alone:
            return _remove(root, layout.existing(root)[:-keep])
    with shared_lock(root / layout.LOCK):
        gone = layout.existing(root)[:-keep]
        for number in gone:
            mark_dropped(root, number)
    return gone


def mark_dropped(root: Path, number: int) -> None:
    """Drop a version but leave its number taken until a sweep; the lock is held with others.

    A writer that was overtaken long ago must not be able to take the number.
    """
    layout.ask_for_sweep(root, number)
    dropped = layout.unfinished_path(root, number, secrets.token_hex(8))
    write_file(dropped, dropped_bytes(number))
    dropped.replace(layout.version_path(root, number))
    flush_folder(root / layout.VERSIONS)


def _remove(root: Path, gone: list[int]) -> list[int]:
    """Remove the oldest versions and what they alone have; the lock is held alone."""
    if not gone:
        return []
    layout.current(root)  # nothing goes while the newest version is missed
    numbers = layout.existing(root)
    files = _files_of(root, gone)
    files -= _files_of(root, numbers[len(gone) : len(gone) + 1])
    asked = layout.ask_for_sweep(root, gone[0])
    for number in gone:
        layout.version_path(root, number).unlink(missing_ok=True)
    flush_folder(root / layout.VERSIONS)  # a version goes before its files do
    for file in files:
        (root / file).unlink(missing_ok=True)
    forget(root, gone)
    asked.unlink(missing_ok=True)
    return gone


def _files_of(root: Path, numbers: list[int]) -> set[str]:
    manifests = [layout.load(root, number) for number in numbers]
    return {file.path for manifest in manifests if manifest for file in manifest.files}


def forget(root: Path, gone: list[int]) -> None:
    """Remove what lies beside dropped versions and note what is left; the lock is held alone."""
    for number in gone:
        with suppress(OSError):
            layout.rejected_path(root, number).unlink(missing_ok=True)
    numbers = layout.numbers(root)
    if numbers:
        history.trim(root, numbers, layout.unfinished_path(root, 0, secrets.token_hex(8)))
        history.note(root, history.Seen(numbers[-1], layout.changed(root)))


def retire_quietly(root: Path, keep: int | None) -> None:
    """Do what `retire` does; what cannot go now goes after another commit."""
    if keep is not None:
        with suppress(OSError, StoreError):
            retire(root, keep)
