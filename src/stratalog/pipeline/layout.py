"""Where things are in a store's folder, and which versions there are."""

from __future__ import annotations

import re
from pathlib import Path

from stratalog.pipeline.manifest import Manifest, from_bytes
from stratalog.pipeline.ordinary import check_folder, read_text

MARKER = "stratalog.json"
LOCK = "lock"
DATA = "data"
VERSIONS = "versions"
UNFINISHED = ".tmp"

_MANIFEST_NAME = re.compile(r"([0-9]{8,})\.json")
_UNFINISHED_NAME = re.compile(r"[0-9]{8,}-[0-9a-f]{16}\.tmp")
_DATA_NAME = re.compile(r"[A-Za-z0-9_-]+-[0-9a-f]{16}\.(parquet|json)")


def version_path(root: Path, number: int) -> Path:
    """Return the path whose existence makes a version exist."""
    return root / VERSIONS / f"{number:08d}.json"


def check_folders(root: Path) -> None:
    """Refuse a store whose folders are links, or no folders."""
    for name in (VERSIONS, DATA):
        check_folder(root / name)


def unfinished_path(root: Path, number: int, token: str) -> Path:
    """Return the path of a manifest in the making; one that is left behind asks for a sweep."""
    return root / VERSIONS / f"{number:08d}-{token}{UNFINISHED}"


def numbers(root: Path) -> list[int]:
    """Return the numbers that are taken, in order; all but the last may be of dropped versions."""
    matches = map(_MANIFEST_NAME.fullmatch, _names(root / VERSIONS))
    return sorted(int(match[1]) for match in matches if match)


def current(root: Path) -> int:
    """Return the current version's number, 0 if there is none."""
    return max(numbers(root), default=0)


def load(root: Path, number: int) -> Manifest | None:
    """Return a version's manifest; None if it was dropped or never was."""
    path = version_path(root, number)
    try:
        content = read_text(path)
    except FileNotFoundError:
        return None
    return from_bytes(content, path)


def unfinished(root: Path) -> list[Path]:
    """Return the manifests in the making, of live and of dead writers."""
    folder = root / VERSIONS
    return [folder / name for name in _names(folder) if _UNFINISHED_NAME.fullmatch(name)]


def data_files(root: Path) -> list[Path]:
    """Return all data files that a writer of ours may have made, named by a manifest or not."""
    folder = root / DATA
    return [folder / name for name in _names(folder) if _DATA_NAME.fullmatch(name)]


def foreign_names(root: Path) -> list[str]:
    """Return what lies where a store shall be, other than remains of an attempt to make it."""
    own = {MARKER, LOCK, DATA, VERSIONS}
    top = [name for name in _names(root) if name not in own]
    inside = [f"{DATA}/{name}" for name in _names(root / DATA)]
    inside += [
        f"{VERSIONS}/{n}" for n in _names(root / VERSIONS) if not _UNFINISHED_NAME.fullmatch(n)
    ]
    return sorted(name for name in [*top, *inside] if not Path(name).name.startswith("."))


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
