"""Removing what no version names: files of killed writers and of dropped versions.

Writers hold the store's lock together from before their first file until their version exists, so
whoever holds it alone knows that no file belongs to a version in the making. While a writer is at
work a sweep does nothing; the next one will.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from stratalog.errors import StoreError
from stratalog.pipeline import layout
from stratalog.pipeline.durable import lock_alone
from stratalog.pipeline.retention import forget


def sweep(root: Path) -> bool:
    """Remove leftovers and return True; do nothing and return False if a writer is at work."""
    with lock_alone(root / layout.LOCK) as is_alone:
        if is_alone:
            with suppress(StoreError):  # a manifest that cannot be read may name any file: keep all
                _remove_leftovers(root)
        return is_alone


def _remove_leftovers(root: Path) -> None:
    layout.current(root)  # an error if the newest version has vanished: its files must stay
    numbers = layout.numbers(root)
    manifests = {number: layout.load(root, number) for number in numbers}
    named = {file.path for manifest in manifests.values() if manifest for file in manifest.files}
    leftovers = [p for p in layout.data_files(root) if p.relative_to(root).as_posix() not in named]
    # A dropped version's number may be free again only now: no writer that was overtaken is left.
    gone = [n for n in numbers[:-1] if manifests[n] is None]
    dropped = [layout.version_path(root, n) for n in gone]
    for path in [*leftovers, *dropped, *layout.unfinished_of_old(root)]:
        path.unlink(missing_ok=True)
    forget(root, gone)
    # Unfinished manifests go last, so that a sweep that is killed is done again.
    for path in layout.unfinished(root):
        path.unlink(missing_ok=True)
