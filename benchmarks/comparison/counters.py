"""Counts what code does, of whichever tree: kernel calls, jobs of Spark, calls between packages.

A counter takes what was counted since it was last asked, by name.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

HAS_LOCALS = 1  # of `co_flags`: functions, and neither modules nor bodies of classes


class Counts(Protocol):
    """What the clock asks after each step."""

    def take(self) -> dict[str, int]: ...


class KernelCalls:
    """Calls of compiled kernels from Python, by the kernel's name: Numba's dispatchers are asked.

    Both trees compile with Numba, wherever their kernels are defined. Calls of one kernel by
    another one are compiled, too, and not seen.
    """

    def __init__(self) -> None:
        from numba.core.dispatcher import Dispatcher

        self._calls: Counter[str] = Counter()
        call = Dispatcher.__call__

        def counted(kernel: Any, *arguments: Any, **named: Any) -> Any:
            self._calls[kernel.py_func.__name__] += 1
            return call(kernel, *arguments, **named)

        Dispatcher.__call__ = counted

    def take(self) -> dict[str, int]:
        taken = dict(sorted(self._calls.items()))
        self._calls.clear()
        return taken


class SparkJobs:
    """Jobs that Spark's scheduler was given; an action is one job or more."""

    def __init__(self, context: Any) -> None:
        self._scheduler = context._jsc.sc().dagScheduler()  # noqa: SLF001  # Spark tells it nowhere
        self._before = self._scheduler.numTotalJobs()

    def take(self) -> dict[str, int]:
        before, self._before = self._before, self._scheduler.numTotalJobs()
        return {"jobs": self._before - before}


class Crossings:
    """Calls from a package of Stratalog to another one; those of an engine are packages, too."""

    def __init__(self) -> None:
        import stratalog

        self._source = f"{Path(stratalog.__file__).parent}/"
        self._calls: Counter[str] = Counter()
        sys.setprofile(self._profile)

    def take(self) -> dict[str, int]:
        taken = dict(sorted(self._calls.items()))
        self._calls.clear()
        return taken

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self._is_function(frame):
            return
        caller = frame.f_back
        while caller and not caller.f_code.co_filename.startswith(self._source):
            caller = caller.f_back
        if caller and self._is_function(caller):
            here, there = self._package(caller), self._package(frame)
            if here != there:
                self._calls[f"{here} -> {there}"] += 1

    def _is_function(self, frame: FrameType) -> bool:
        code = frame.f_code
        is_ours = code.co_filename.startswith(self._source)
        return is_ours and bool(code.co_flags & HAS_LOCALS) and not code.co_name.startswith("<")

    def _package(self, frame: FrameType) -> str:
        parts = frame.f_code.co_filename.removeprefix(self._source).split("/")[:-1]
        return ".".join(parts[: 2 if parts[:1] == ["engine"] else 1]) or "stratalog"
