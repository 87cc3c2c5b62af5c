"""Progress of long runs: who hears of it, a person, a function, a list or the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from stratalog.errors import EngineError, StratalogError
from stratalog.kernels import compiling

STAGES = "stages"
"""The choice of `progress` that lists finished stages, on a terminal or not."""

LONG = "long"
"""The choice of `progress` that lists them in runs with Spark or publishing, as commands do."""

COMPILE = "compile"
"""The stage that comes amid others, which go on when it is over."""

log = logging.getLogger("stratalog")


_ACTIVE: list[Reporter] = []  # in the order in which they began


class Reporter:
    """Told what is being done and what has been done until a block ends; this one says nothing."""

    def __enter__(self) -> Self:
        _ACTIVE.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _ACTIVE.remove(self)
        self.stop()

    def __call__(self, stage: str, detail: str) -> None:
        """Hear what a stage is doing."""

    def finish(self, stage: str, detail: str, seconds: float) -> None:
        """Hear what a stage has done; whoever asks for it finds it in the log."""
        log.info("%s: %s, %.2f s", stage, detail, seconds)

    def list_stages(self) -> None:
        """Hear that this run has enough stages to list them."""

    def pause(self) -> None:
        """Hear that facts are being read, and others may use the dictionary for a moment."""

    def stop(self) -> None:
        """Remove what is still shown on the terminal."""


def reporter(progress: Callable[[str, str], None] | bool | str | None) -> Reporter:
    """Return what shows the progress: the user's function, a status line, a list, or nothing."""
    if callable(progress):
        return _Told(progress)
    if progress is False:
        return Reporter()
    from stratalog.knowledge.display.status import StatusLine, surface

    found = surface()
    if found is None and not progress:
        return Reporter()
    lists = progress == STAGES or (progress is True and found is None)
    return StatusLine(found, lists=lists, may_list=progress == LONG)


class _CompilationLine:
    """Shows how many kernels are compiled: where something is shown already, or on its own."""

    def __init__(self) -> None:
        self._own: Reporter | None = None
        self._begun: float | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._begun is None:
            self._begun = time.monotonic()
        if not _ACTIVE and self._own is None:
            self._own = reporter(None)
        shown = _ACTIVE[-1] if _ACTIVE else self._own
        if shown is not None:
            with suppress(StratalogError):  # of the user's function, which is told again soon
                self._tell(shown, done, total)
        if done == total:
            self._end()

    def _tell(self, shown: Reporter, done: int, total: int) -> None:
        if done < total:
            shown(COMPILE, f"{done} of {plural(total, 'kernel')}, once for this machine")
        elif done:
            shown.finish(COMPILE, plural(done, "kernel"), time.monotonic() - (self._begun or 0))

    def _end(self) -> None:
        self._begun = None
        if self._own is not None:
            self._own.stop()
            self._own = None


compiling.WATCHERS.append(_CompilationLine())


def plural(amount: int, word: str) -> str:
    """Return an amount of things."""
    return f"{amount:,} {word}{'' if amount == 1 else 's'}"


class _Told(Reporter):
    """The user's function, which hears of finished stages too."""

    def __init__(self, function: Callable[[str, str], None]) -> None:
        self._function = function

    def __call__(self, stage: str, detail: str) -> None:
        try:
            self._function(stage, detail)
        except StratalogError:
            raise
        except Exception as error:
            raise EngineError(
                "E132",
                f"the function given as progress= failed: {type(error).__name__}: {error}",
                help="it is called with two texts, a stage and what it is doing",
            ) from error

    def finish(self, stage: str, detail: str, seconds: float) -> None:
        super().finish(stage, detail, seconds)
        self(stage, f"{detail}, {seconds:.2f} s")
