"""The decorator of all kernels, and the choice between compiling and interpreting them.

Compiling takes tenths of a second a kernel, up to half a minute for a whole program, once per
machine. A kernel that is not in the folder of compiled ones is interpreted by Python: about a
hundred times as slow, with the same results. It is compiled once it has taken a while, or when
much is asked of it at once. Facts lie in the same arrays for both, so that any call may be the
first that is compiled; kernels that take long can stop and go on, so that it comes soon.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, update_wrapper
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

from stratalog.kernels.cache import BOUNDSCHECK
from stratalog.kernels.compiling import compile_kernels, in_order, is_there
from stratalog.kernels.forms import PRIMITIVES, REPLACED, SOURCES, Form
from stratalog.kernels.preparation import PREPARATION
from stratalog.runtime.interrupts import held

Arguments = tuple[Any, ...]
Work = Callable[..., int]
Steps = Callable[..., Arguments]

CHOICES = ("auto", "compiled", "interpreted", "mixed")


def _choice() -> str:
    """Return how kernels run. Tests have them `mixed`: each call in one form, drawn at random."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        return "interpreted"
    usual = "compiled" if BOUNDSCHECK else "auto"
    given = os.environ.get("STRATALOG_KERNELS", usual)
    return given if given in CHOICES else usual


CHOICE = _choice()
MIN_BUDGET_SECONDS = 0.3  # that a kernel may take interpreted before it is compiled
BUDGET_SECONDS_PER_KERNEL = 0.02  # more, for each kernel that is to be compiled with it
LIKELY_SHARE = 0.2  # of its budget: a kernel that has taken so much is compiled with others
LOADING_SECONDS = 0.01  # that it takes to load a kernel: less is interpreted even if there is one
MAX_ROWS_UNLOADED = 200  # of one call then
MAX_INTERPRETED_ROWS = 20_000  # of one call: some tenths of a second
MAX_ROWS_AFTER_CTRL_C = 1_000_000  # of one call: as long as compiling takes, and mostly shorter
MAX_STEPS = 1_000  # of a call that can stop and go on

_ALL: list[Kernel] = []
_RANDOM = random.Random(0)  # noqa: S311  # of no secret

INTERPRETED = Form(
    lambda function: function,
    lambda primitive: PRIMITIVES[primitive.__module__, primitive.__name__],
)


class _Threads:
    """Counts the blocks in which several threads run kernels on the same arrays."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = Lock()

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Run only compiled kernels in the block.

        Compiled kernels add to a number in one step of the processor, interpreted ones under a
        lock: neither keeps out the other.
        """
        with self._lock:
            self.count += 1
        try:
            yield
        finally:
            with self._lock:
                self.count -= 1


THREADS = _Threads()


def _longest(*arguments: object) -> int:
    """Return the length of the longest array."""
    return max((a.shape[-1] for a in arguments if isinstance(a, np.ndarray) and a.ndim), default=0)


def _some_steps(most: int, *arguments: Any) -> Arguments:
    """Return the arguments of a kernel whose last one is how many steps it takes at most."""
    return (*arguments[:-1], min(arguments[-1], most))


class Kernel:
    """A function over arrays, in whichever form there is reason for."""

    def __init__(
        self,
        source: FunctionType,
        work: Work = _longest,
        steps: Steps | None = None,
        *,
        resumes: bool = False,
        usual: bool = False,
    ) -> None:
        """Take a function; `work` returns about how many rows a call looks at.

        A kernel that `resumes` takes at most as many steps as its last argument says, and goes on
        with the next call; `steps` returns its arguments for so many, if they are elsewhere.
        A kernel is `usual` if most programs with many facts need it: it is compiled with others.
        """
        update_wrapper(self, source)
        self.source = source
        self.place = source.__module__, source.__name__
        self.work = work
        self.steps = _some_steps if resumes and steps is None else steps
        self.is_usual = usual
        self.seconds = 0.0  # taken by calls that were interpreted
        SOURCES[self.place] = source
        _ALL.append(self)

    def __call__(self, *arguments: Any) -> Any:  # kernels have no types
        """Run the kernel."""
        if self._is_little(arguments) or not self._is_made(arguments):
            return self._interpret(arguments)
        return self.compiled(*arguments)

    @property
    def compiled(self) -> Any:  # numba's dispatcher
        """The kernel as Numba runs it, which is called under its name from now on."""
        with held(), PREPARATION.measured():  # Numba that is half imported cannot be imported again
            from stratalog.kernels.compiled import COMPILED

            made = COMPILED.kernel(self.place)
        if CHOICE != "mixed":
            setattr(sys.modules[self.place[0]], self.place[1], made)
        return made

    def _is_made(self, arguments: Arguments) -> bool:
        """Return whether the kernel is compiled, which this may do; Ctrl-C cuts that short.

        Then the call is interpreted, unless that takes too long: the work goes on until it comes to
        where it may stop.
        """
        if is_there(self.place):
            return True
        is_much = not self._fits(arguments)
        with PREPARATION.measured():
            is_cut_short = not compile_kernels(
                [self.place, *(each.place for each in _ALL if each.is_likely(is_much=is_much))]
            )
        return not (is_cut_short and self._fits(arguments, MAX_ROWS_AFTER_CTRL_C))

    def is_likely(self, *, is_much: bool) -> bool:
        """Return whether the kernel should be compiled when another one is."""
        return (self.is_usual and is_much) or self.seconds > LIKELY_SHARE * self.budget

    @cached_property
    def budget(self) -> float:
        """How many seconds the kernel may take interpreted before it is compiled."""
        return MIN_BUDGET_SECONDS + BUDGET_SECONDS_PER_KERNEL * len(in_order([self.place]))

    @cached_property
    def _interpreted(self) -> Callable[..., Any]:
        return INTERPRETED.kernel(self.place)  # type: ignore[no-any-return]

    def _is_little(self, arguments: Arguments) -> bool:
        if CHOICE == "compiled" or THREADS.count:
            return False
        if CHOICE != "auto":
            return CHOICE == "interpreted" or _RANDOM.random() < 0.5  # as often
        if is_there(self.place):
            return self.seconds <= LOADING_SECONDS and self._fits(arguments, MAX_ROWS_UNLOADED)
        return self.seconds <= self.budget and self._fits(arguments)

    def _fits(self, arguments: Arguments, most: int = MAX_INTERPRETED_ROWS) -> bool:
        """Return whether a call is short enough to be interpreted."""
        return self.steps is not None or self.work(*arguments) <= most

    def _interpret(self, arguments: Arguments) -> Any:
        if self.steps is not None:
            arguments = self.steps(MAX_STEPS, *arguments)
        begun = time.thread_time()
        with held(), np.errstate(over="raise"):  # a call is not cut short; nothing wraps unseen
            result = self._interpreted(*arguments)
        seconds = time.thread_time() - begun
        self.seconds += seconds
        PREPARATION.interpreted(seconds)
        return result


def kernel(source: Any = None, /, **how: Any) -> Any:
    """Make a kernel of a function; `how` is what `Kernel` takes."""
    return partial(Kernel, **how) if source is None else Kernel(source)


def variant(of: Kernel, name: str, *, usual: bool = False, **replaced: Kernel) -> Kernel:
    """Return a kernel with the same source, in which some names stand for other kernels."""
    source = FunctionType(of.source.__code__, of.source.__globals__, name)
    source.__doc__ = of.source.__doc__
    made = Kernel(source, of.work, of.steps, usual=usual)
    REPLACED[made.place] = {each: other.place for each, other in replaced.items()}
    return made
