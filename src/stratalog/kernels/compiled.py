"""Kernels compiled by Numba, without the interpreter lock, and kept on disk."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core import caching, compiler, serialize
from numba.core.runtime import rtsys

from stratalog.kernels.cache import (
    BOUNDSCHECK,
    SUFFIX,
    Place,
    cache_folder,
    file_prefix,
    kept_folders,
)
from stratalog.kernels.forms import Form
from stratalog.kernels.preparation import PREPARATION
from stratalog.runtime.interrupts import held
from stratalog.runtime.locks import open_lock

_TURN = RLock()
"""Taken before any file is locked: threads of a process compile one after the other."""

_HASH_SIZE = 32  # bytes


class _KeptKernel(caching._Cache):  # type: ignore[misc] # noqa: SLF001  # numba's extension point
    """Loads a kernel where it is kept; keeps it, once for all processes that compile it at once.

    A file holds a hash of what follows and one pickled version of the kernel: a damaged file is
    none. While a version is compiled, the kernel's lock keeps other processes waiting for it.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._locks: list[int] = []

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, sig: object, target_context: Any) -> Any:
        """Return a compiled version; None, with the lock taken, if there is none.

        Numba is imported bit by bit, and a module that is half imported cannot be imported again.
        """
        rtsys.initialize(target_context)  # of what `refresh` does, all that running needs
        name = self._file_name(sig, target_context.codegen())
        with held():
            found = self._read(name)
        if found is None and self._lock():
            with held():
                found = self._read(name)  # another process may have compiled it meanwhile
        if found is None:
            with held():
                target_context.refresh()
                target_context.typing_context.refresh()
            return None
        return compiler.CompileResult._rebuild(target_context, *found)  # noqa: SLF001

    def save_overload(self, sig: object, data: Any) -> None:
        """Keep a version, unless there is no room."""
        content = serialize.dumps(data._reduce())  # noqa: SLF001
        name = self._file_name(sig, data.codegen)
        with suppress(OSError):
            unfinished = cache_folder() / f"{name}.{os.getpid()}"
            unfinished.write_bytes(hashlib.sha256(content).digest() + content)
            unfinished.replace(cache_folder() / name)

    def release(self) -> None:
        """Let other processes have the lock."""
        while self._locks:
            os.close(self._locks.pop())

    def enable(self) -> None:
        """Do nothing: kernels are always kept."""

    disable = flush = enable

    def _lock(self) -> bool:
        try:
            descriptor = open_lock(cache_folder() / f"{file_prefix(self._place)}.lock", os.O_CREAT)
            self._locks.append(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # it cannot be kept there, either, or the file system knows no locks
            return False
        return True

    def _file_name(self, sig: object, codegen: Any) -> str:
        key = hashlib.sha256(f"{sig} {codegen.magic_tuple()}".encode()).hexdigest()[:16]
        return f"{file_prefix(self._place)}.{key}{SUFFIX}"

    def _read(self, name: str) -> Any:
        return next((found for each in kept_folders() if (found := _content(each / name))), None)


def _content(path: Path) -> Any:
    """Return what a file holds, None if there is none or it is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, content = data[:_HASH_SIZE], data[_HASH_SIZE:]
    is_whole = hashlib.sha256(content).digest() == digest
    return pickle.loads(content) if is_whole else None  # noqa: S301  # of this user's own


def compiled(function: FunctionType) -> Any:  # numba's dispatcher
    """Return a function that is compiled, or loaded, when it is first called."""
    made: Any = numba.njit(nogil=True, boundscheck=BOUNDSCHECK)(function)
    kept = made._cache = _KeptKernel((function.__module__, function.__name__))  # noqa: SLF001
    made.compile = _alone(made.compile, kept)
    made.get_call_template = partial(_template, made.get_call_template)
    return made


def _template(find: Callable[..., Any], arguments: Iterable[Any], named: Any) -> Any:
    """Return how a kernel is called by another one: no version is compiled for one constant."""
    return find(tuple(map(types.unliteral, arguments)), named)


def _alone(compile_version: Callable[[object], Any], kept: _KeptKernel) -> Callable[[object], Any]:
    """Return the method that compiles or loads a version, one at a time."""

    def compile_alone(sig: object) -> Any:
        with _TURN, PREPARATION.measured():
            try:
                return compile_version(sig)
            finally:
                kept.release()

    return compile_alone


def _intrinsic(primitive: FunctionType) -> Any:
    from stratalog.kernels import intrinsics

    return getattr(intrinsics, primitive.__name__)


COMPILED = Form(compiled, _intrinsic)
