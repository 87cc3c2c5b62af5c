"""A line that says what is being done, and for how long: on a terminal or in a notebook.

A thread of its own draws it, so that time goes on in a round that takes minutes. The thread begins
with the first word about a run, ends with the run, and never keeps the process alive. In a
pipe there is no thread.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from stratalog.knowledge.display.progress import COMPILE, Reporter
from stratalog.knowledge.display.terminal import is_terminal, shown_on, visible
from stratalog.runtime import kernel

if TYPE_CHECKING:
    from rich.live import Live

QUIET = 2.0  # seconds without a word
INTERVAL = 0.5  # seconds between two drawings: times are told in whole seconds


class Surface(Protocol):
    """Where a line is shown."""

    def draw(self, text: str) -> None:
        """Show this text instead of the one before."""

    def add(self, text: str) -> None:
        """Show a line that stays, above the one that changes."""

    def end(self, text: str) -> None:
        """Leave what should be seen when a run is over; `text` is the last that was told."""


def surface() -> Surface | None:
    """Return where a person reads: a notebook or a terminal, None if there is neither."""
    if kernel.shell() is not None:
        return NotebookLine()
    return TerminalLine() if is_terminal(sys.stderr) else None


class TerminalLine:
    """A line on stderr, which is gone when a run is over."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def draw(self, text: str) -> None:
        from rich.text import Text

        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, force_jupyter=False)
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Text(visible(text)), refresh=True)  # brackets in it are no markup

    def add(self, text: str) -> None:
        self.end("")
        print(shown_on(sys.stderr, text), file=sys.stderr, flush=True)  # noqa: T201

    def end(self, text: str) -> None:  # noqa: ARG002  # nothing stays
        if self._live is not None:
            self._live.stop()
            self._live = None


class NotebookLine:
    """One display below a cell, which is updated; the last line stays."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._lines: list[str] = []
        self._shown: list[str] = []

    def draw(self, text: str) -> None:
        self._show([*self._lines, text])

    def add(self, text: str) -> None:
        self._lines.append(text)
        self._show(self._lines)

    def end(self, text: str) -> None:
        if self._handle is not None:
            self._show(self._lines or [text])

    def _show(self, lines: list[str]) -> None:
        if lines == self._shown:
            return
        self._shown = list(lines)
        texts = [visible(line) for line in lines]
        html = "<br>".join(escape(text) for text in texts)
        shown = {
            "text/plain": "\n".join(texts),
            "text/html": f'<div style="opacity:.7">{html}</div>',
        }
        if self._handle is not None:
            self._handle.update(shown, raw=True)
            return
        from IPython.display import display

        self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]


class PrintedLines:
    """Lines on stderr where that is no terminal: finished stages only."""

    def draw(self, text: str) -> None:
        """Nothing: it would be one more line for each word."""

    def add(self, text: str) -> None:
        print(shown_on(sys.stderr, text), file=sys.stderr, flush=True)  # noqa: T201

    def end(self, text: str) -> None:
        """Nothing is left to remove."""


class StatusLine(Reporter):
    """Shows what is being done two seconds after the start, and lists what is done if asked to."""

    def __init__(self, found: Surface | None, *, lists: bool, may_list: bool) -> None:
        self._surface: Surface = PrintedLines() if found is None else found
        self._is_watched = found is not None
        self._is_listing = lists
        self._may_list = may_list
        self._begun = time.monotonic()
        self._last = ""
        self._goes_on = ""  # what was being done when kernels began to be compiled
        self._over = threading.Event()
        self._drawing = threading.Lock()
        self._thread: threading.Thread | None = None

    def __call__(self, stage: str, detail: str) -> None:
        self._tell(stage, detail)
        if self._is_watched and self._thread is None:
            self._thread = self._started()

    def list_stages(self) -> None:
        self._is_listing = self._is_listing or self._may_list

    def finish(self, stage: str, detail: str, seconds: float) -> None:
        super().finish(stage, detail, seconds)
        self._tell(stage, detail)
        if stage == COMPILE:
            self._last = self._goes_on or self._last
        if self._is_listing:
            with self._drawing:
                self._surface.add(f"{stage}: {detail}, {seconds:.2f} s")

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()
        with self._drawing:
            self._surface.end(self._line())

    def _tell(self, stage: str, detail: str) -> None:
        self._last = f"{stage}: {detail}"
        if stage != COMPILE:
            self._goes_on = self._last

    def _started(self) -> threading.Thread:
        """Return the thread that draws; where there is no room for one, it has not begun."""
        context = copy_context()  # in it a notebook finds the cell that an output belongs to
        draw = self._draw_until_over
        thread = threading.Thread(target=context.run, args=(draw,), daemon=True)
        with suppress(RuntimeError):
            thread.start()
        return thread

    def _draw_until_over(self) -> None:
        pause = QUIET
        while not self._over.wait(pause):
            pause = INTERVAL
            with self._drawing, suppress(Exception):  # a line must never end a run
                if not self._over.is_set():
                    self._surface.draw(self._line())

    def _line(self) -> str:
        return f"{self._last} ({time.monotonic() - self._begun:.0f} s)"
