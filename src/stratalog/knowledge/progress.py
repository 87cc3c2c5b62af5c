"""Progress of long runs: on a terminal or in a notebook, after two seconds, never in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Reporter = Callable[[str, str], None]

QUIET = 2.0  # seconds without a word
INTERVAL = 0.1  # seconds between two updates of the line


@contextmanager
def reporter(progress: Reporter | bool | None) -> Iterator[Reporter]:
    """Yield a function that shows what is being done: the user's, a status line, or nothing."""
    if callable(progress):
        yield progress
    elif progress is False or not (progress or _is_watched()):
        yield lambda _stage, _detail: None
    else:
        line = _StatusLine()
        try:
            yield line
        finally:
            line.stop()


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _StatusLine:
    """A line on stderr that begins two seconds after the start."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shown = 0.0
        self._status: object = None

    def __call__(self, stage: str, detail: str) -> None:
        now = time.monotonic()
        if now - self._begun < QUIET or now - self._shown < INTERVAL:
            return
        self._shown = now
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()
        self._status.update(f"{stage}: {detail} ({now - self._begun:.0f} s)")  # type: ignore[attr-defined]

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()  # type: ignore[attr-defined]
