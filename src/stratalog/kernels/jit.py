"""The decorator of all kernels, and the folder where compiled kernels are kept.

Numba keys its cache by each file's own time stamp, so a cached kernel that calls a kernel of
another file would survive a change there. Ours is one folder per hash of *all* kernel sources and
of the versions of Numba and NumPy: a change anywhere compiles anew, and read-only installations
work too. Numba unpickles what it finds there, so that only a folder of this user's own will do.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import caching
from numba.core.runtime import rtsys

from stratalog.kernels.sizes import TINY
from stratalog.runtime.private_folder import private_folders

KernelFunction = TypeVar("KernelFunction", bound=Callable[..., Any])

BOUNDSCHECK = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in {"", "0"}


@cache
def cache_folder() -> Path:
    """Return the folder of compiled kernels for exactly these sources and versions."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    versions = f"{numba.__version__} {np.__version__} {sys.version_info} {BOUNDSCHECK} {TINY}"
    digest.update(versions.encode())
    return next(private_folders(digest.hexdigest()[:16]))


def is_compiled() -> bool:
    """Return whether kernels of these sources have been compiled on this machine before."""
    return any(cache_folder().glob("*.nbc"))


class _OurFolder(caching._CacheLocator):  # type: ignore[misc] # noqa: SLF001  # numba's extension point
    """Puts every kernel's cache entries into `cache_folder()`."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._file = py_file

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return "in the folder's name"

    def get_disambiguator(self) -> str:
        return f"{Path(self._file).stem}-{self._line}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _OurFolder | None:
        if Path(py_file).parent != Path(__file__).parent:
            return None
        return cls(py_func, py_file)


_CACHES = getattr(caching, "CacheImpl", None) or caching._CacheImpl  # noqa: SLF001  # renamed in 0.62
_CACHES._locator_classes.insert(0, _OurFolder)  # noqa: SLF001


class _ReadyCache(caching.FunctionCache):  # type: ignore[misc]
    """Loads compiled kernels without Numba's registries of functions, which only compiling needs.

    They take a third of a second, a quarter of what a small program takes from start to end.
    """

    def load_overload(self, sig: object, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # of what `refresh` does, all that running needs
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def kernel(function: KernelFunction) -> KernelFunction:
    """Compile `function` with Numba on first use, without the interpreter lock, cached on disk."""
    compiled: Any = numba.njit(cache=True, nogil=True, boundscheck=BOUNDSCHECK)(function)
    if isinstance(getattr(compiled, "_cache", None), caching.FunctionCache):
        compiled._cache = _ReadyCache(function)  # noqa: SLF001
    return compiled  # type: ignore[no-any-return]
