"""Progress of long runs: a line on a terminal or in a notebook, or a list of finished stages."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from stratalog.kernels import compiling
from stratalog.knowledge.terminal import shown_on, visible

if TYPE_CHECKING:
    from rich.text import Text

from stratalog.errors import EngineError, StratalogError

STAGES = "stages"
"""The choice of `progress` that also lists finished stages, on a terminal or not."""

QUIET = 2.0  # seconds without a word
INTERVAL = 0.1  # seconds between two updates of the line


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
        """Hear what a stage has done."""

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
    if progress is False or not (progress or _is_watched()):
        return Reporter()
    return _StatusLine(lists=progress == STAGES, watched=_is_watched() or progress is True)


class _CompilationLine:
    """Shows how many kernels are compiled: where something is shown already, or on its own."""

    def __init__(self) -> None:
        self._own: Reporter | None = None

    def __call__(self, done: int, total: int) -> None:
        shown = _ACTIVE[-1] if _ACTIVE else self._own
        if shown is None:
            shown = self._own = reporter(None)
        with suppress(StratalogError):  # of the user's function, which is told again soon
            shown("compile", f"{done} of {plural(total, 'kernel')}, once for this machine")
        if done == total and self._own is not None:
            self._own.stop()
            self._own = None


compiling.WATCHERS.append(_CompilationLine())


def plural(amount: int, word: str) -> str:
    """Return an amount of things."""
    return f"{amount:,} {word}{'' if amount == 1 else 's'}"


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


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
        self(stage, f"{detail}, {seconds:.2f} s")


def _line(text: str) -> Text:
    """Return a status as plain text: brackets in it are no markup."""
    from rich.text import Text

    return Text(visible(text))


class _StatusLine(Reporter):
    """A line on stderr that begins two seconds after the start, above it the finished stages."""

    def __init__(self, *, lists: bool, watched: bool) -> None:
        self._begun = time.monotonic()
        self._shown = 0.0
        self._status: object = None
        self._may_list = lists
        self._is_listing = False
        self._watched = watched

    def __call__(self, stage: str, detail: str) -> None:
        now = time.monotonic()
        if not self._watched or now - self._begun < QUIET or now - self._shown < INTERVAL:
            return
        self._shown = now
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()
        self._status.update(_line(f"{stage}: {detail} ({now - self._begun:.0f} s)"))  # type: ignore[attr-defined]

    def list_stages(self) -> None:
        self._is_listing = self._may_list

    def finish(self, stage: str, detail: str, seconds: float) -> None:
        if self._is_listing:
            self.stop()
            told = shown_on(sys.stderr, f"{stage}: {detail}, {seconds:.2f} s")
            print(told, file=sys.stderr, flush=True)  # noqa: T201

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()  # type: ignore[attr-defined]
            self._status = None
