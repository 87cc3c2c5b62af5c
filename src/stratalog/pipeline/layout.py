"""Where things are in a store's folder, and which versions there are."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from stratalog.pipeline import history
from stratalog.pipeline.durable import reserve_file
from stratalog.pipeline.manifest import Manifest, from_bytes
from stratalog.pipeline.ordinary import check_folder, damaged, read_text

MARKER = "stratalog.json"
LOCK = "lock"
DATA = "data"
VERSIONS = "versions"
UNFINISHED = "unfinished"
REJECTED = "rejected"

_MANIFEST_NAME = re.compile(r"([0-9]{8,})\.json")
_UNFINISHED_NAME = re.compile(r"[0-9]{8,}-[0-9a-f]{16}\.tmp")
_LEAST_MANIFEST_BYTES = 256  # what keeps a dropped version's number taken is shorter
_DATA_NAME = re.compile(r"[A-Za-z0-9_-]+-[0-9a-f]{16}\.(parquet|json|pack)")


def version_path(root: Path, number: int) -> Path:
    """Return the path whose existence makes a version exist."""
    return root / VERSIONS / f"{number:08d}.json"


def check_folders(root: Path) -> None:
    """Refuse a store whose folders are links, or no folders."""
    for name in (VERSIONS, DATA, UNFINISHED, REJECTED):
        check_folder(root / name)


def unfinished_path(root: Path, number: int, token: str) -> Path:
    """Return the path of a manifest in the making; one that is left behind asks for a sweep."""
    return root / UNFINISHED / f"{number:08d}-{token}.tmp"


def rejected_path(root: Path, number: int) -> Path:
    """Return where a store keeps the lines that were rejected when a version was made."""
    return root / REJECTED / f"version-{number}.jsonl"


def numbers(root: Path) -> list[int]:
    """Return the numbers that are taken, in order; all but the last may be of dropped versions."""
    matches = map(_MANIFEST_NAME.fullmatch, _names(root / VERSIONS))
    return sorted(int(match[1]) for match in matches if match)


def current(root: Path) -> int:
    """Return the current version's number, 0 if there is none; T103 if it has vanished.

    If no name has changed since a version was noted as the newest, it is, unless the next one is
    there: several may be made while the clock of the file system stands still.
    """
    seen = history.last(root)
    if seen is None or seen.changed != changed(root) or not _is_taken(root, seen.newest):
        return _listed(root, seen)
    number = seen.newest
    while _is_taken(root, number + 1):
        number += 1
    return number


def _listed(root: Path, seen: history.Seen | None) -> int:
    found, before = newest(root), seen
    while (seen := history.last(root)) != before:  # a version that was noted now is there now
        found, before = newest(root), seen
    if seen is not None and seen.newest > found:
        raise history.vanished(root, seen.newest, found)
    return found


def missed(root: Path) -> int:
    """Return the number of the newest version if it has vanished, 0 otherwise."""
    seen = history.last(root)
    return seen.newest if seen is not None and seen.newest > newest(root) else 0


def manifest_bytes(root: Path, number: int) -> int:
    """Return the size of a version's manifest, 0 if there is none."""
    try:
        return version_path(root, number).stat().st_size
    except FileNotFoundError:
        return 0


def newest(root: Path) -> int:
    """Return the highest number that is taken, 0 if none is."""
    return max(numbers(root), default=0)


def changed(root: Path) -> int:
    """Return when a name in the folder of manifests last changed, in nanoseconds."""
    try:
        return (root / VERSIONS).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def is_known(root: Path) -> bool:
    """Tell whether no name in the folder of manifests has changed since the last commit."""
    seen = history.last(root)
    return seen is not None and seen.changed == changed(root)


def _is_taken(root: Path, number: int) -> bool:
    return version_path(root, number).exists()


def existing(root: Path) -> list[int]:
    """Return the numbers of the versions that are not dropped, in order."""
    found = numbers(root)
    if not unfinished(root):  # where one is dropped and not swept, something is unfinished
        return found
    return [number for number in found if not is_dropped(root, number)]


def is_dropped(root: Path, number: int) -> bool:
    """Tell whether a version is gone and only its number is still taken."""
    size = manifest_bytes(root, number)
    return size < _LEAST_MANIFEST_BYTES and load(root, number) is None


def load(root: Path, number: int) -> Manifest | None:
    """Return a version's manifest; None if it was dropped or never was."""
    path = version_path(root, number)
    try:
        content = read_text(path)
    except FileNotFoundError:
        return None
    manifest = from_bytes(content, path)
    if manifest is not None and manifest.number != number:
        raise damaged(path, "it is of another version")
    return manifest


def stamp(root: Path, number: int) -> tuple[int, int, int, int] | None:
    """Return what tells that a version's manifest is the same file, unchanged; None without one."""
    try:
        found = version_path(root, number).lstat()
    except FileNotFoundError:
        return None
    return number, found.st_ino, found.st_size, found.st_mtime_ns


def unfinished(root: Path) -> list[Path]:
    """Return the manifests in the making, of live and of dead writers."""
    folder = root / UNFINISHED
    return [folder / name for name in _names(folder) if _UNFINISHED_NAME.fullmatch(name)]


def unfinished_of_old(root: Path) -> list[Path]:
    """Return those of an older Stratalog, which has them among the versions."""
    folder = root / VERSIONS
    return [folder / name for name in _names(folder) if _UNFINISHED_NAME.fullmatch(name)]


def ask_for_sweep(root: Path, number: int) -> Path:
    """Create an unfinished file, so that the next writer that is alone sweeps; return its path."""
    path = unfinished_path(root, number, secrets.token_hex(8))
    reserve_unfinished(path)
    return path


def reserve_unfinished(path: Path) -> None:
    """Create an empty unfinished file, and its folder where an older Stratalog made none."""
    try:
        reserve_file(path)
    except FileNotFoundError:
        path.parent.mkdir(exist_ok=True)
        reserve_file(path)


def data_files(root: Path) -> list[Path]:
    """Return all data files that a writer of ours may have made, named by a manifest or not."""
    folder = root / DATA
    return [folder / name for name in _names(folder) if _DATA_NAME.fullmatch(name)]


def foreign_names(root: Path) -> list[str]:
    """Return what lies where a store shall be, other than remains of an attempt to make it."""
    own = {MARKER, LOCK, DATA, VERSIONS, UNFINISHED}
    top = [name for name in _names(root) if name not in own]
    inside = [f"{DATA}/{name}" for name in _names(root / DATA)]
    for folder in (VERSIONS, UNFINISHED):
        names = _names(root / folder)
        inside += [f"{folder}/{name}" for name in names if not _UNFINISHED_NAME.fullmatch(name)]
    return sorted(name for name in [*top, *inside] if not Path(name).name.startswith("."))


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
