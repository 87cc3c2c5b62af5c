"""The folders where compiled kernels are kept, and which kernels are in them.

Kernels are kept in one folder per hash of *all* kernel sources, of the versions of Python, Numba
and NumPy, and of the processor: a change anywhere compiles anew, so that no kernel meets an older
one that it calls. What lies there is unpickled: only a folder will do that no other user can write
to. Kernels that an administrator or an image has brought along are read, too.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

from stratalog.kernels.sizes import TINY
from stratalog.runtime.private_folder import brought_folder, kept_folder

BOUNDSCHECK = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in {"", "0"}
SUFFIX = ".kernel"
_KINDS = ("cpu family", "model", "flags", "Features", "CPU ")  # lines of /proc/cpuinfo

CHOSEN_FOLDER = "STRATALOG_KERNEL_FOLDER"
"""A variable that processes which compile for another one get from it."""

_WHEN_TO_COMPILE = {
    "jit.py",
    "compiling.py",
    "compiler_process.py",
    "every.py",
    "preparation.py",
    "versions.py",
}
"""Sources on which no compiled code depends: they say which kernels are compiled, and when."""

Place = tuple[str, str]  # a module and a name in it


@cache
def cache_folder() -> Path:
    """Return the folder for exactly these sources, versions and processor; it can be written to."""
    chosen = os.environ.get(CHOSEN_FOLDER)
    return Path(chosen) if chosen else kept_folder(folder_name(), "compiled kernels")


@cache
def kept_folders() -> tuple[Path, ...]:
    """Return the folders where compiled kernels may lie."""
    brought = brought_folder(folder_name())
    return (cache_folder(),) if brought is None else (brought, cache_folder())


@cache
def folder_name() -> str:
    """Return the name of the folder for these sources, versions and processor."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for source in sorted(path for path in here.rglob("*.py") if path.name not in _WHEN_TO_COMPILE):
        digest.update(str(source.relative_to(here)).encode() + b"\0" + source.read_bytes())
    versions = f"{version('numba')} {version('numpy')} {sys.version_info} {BOUNDSCHECK} {TINY}"
    settings = [name + os.environ[name] for name in sorted(os.environ) if _changes_code(name)]
    digest.update(f"{versions} {settings} {_processor()}".encode())
    return digest.hexdigest()[:16]


def file_prefix(place: Place) -> str:
    """Return how the names of a kernel's files begin."""
    module, name = place
    return f"{module.removeprefix('stratalog.kernels.')}.{name}"


def is_kept(place: Place) -> bool:
    """Return whether a kernel was in one of the folders when this process first looked."""
    return file_prefix(place) in _kept()


@cache
def _kept() -> frozenset[str]:
    found = (path for folder in kept_folders() for path in folder.glob(f"*{SUFFIX}"))
    return frozenset(path.name.rsplit(".", 2)[0] for path in found)


def _changes_code(variable: str) -> bool:
    """Return whether a variable of the environment may change what Numba compiles."""
    return variable in {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT"}


def _processor() -> str:
    """Return what identifies the kind of processor, as far as compiled code depends on it."""
    if "NUMBA_CPU_NAME" in os.environ:  # code for a processor that was chosen
        return platform.machine()
    with suppress(OSError), Path("/proc/cpuinfo").open(errors="replace") as lines:
        block = takewhile(str.strip, lines)  # of the first core
        return platform.machine() + "".join(line for line in block if line.startswith(_KINDS))
    return f"{platform.machine()} {platform.processor()}"  # not Linux
