"""Ctrl-C while facts change: noticed at once, raised where everything can be undone.

Python raises KeyboardInterrupt between any two steps, also between a change and the note of how to
undo it. So whoever changes what must stay whole holds it back, and asks for it where it does no
harm: engines do so whenever they look at their limits. A second Ctrl-C is not held back: it is
raised at once, wherever that is, and what was being changed can no longer be relied on.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from threading import current_thread, main_thread
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


class _Interrupts:
    """The handler that is kept from its work, and whether it has been called meanwhile."""

    def __init__(self) -> None:
        self.handler: Handler | None = None
        self.is_pending = False
        self.was_forced = False

    def notice(self, number: int, frame: FrameType | None) -> None:
        if self.is_pending and self.handler is not None:
            self.is_pending, self.was_forced = False, True
            self.handler(number, frame)
        else:
            self.is_pending = True

    def hold(self) -> bool:
        """Keep the process's handler from its work; False if there is none, or it is kept."""
        if self.handler is not None or current_thread() is not main_thread():
            return False  # only the main thread is ever interrupted
        self.is_pending = self.was_forced = False
        found = signal.getsignal(signal.SIGINT)
        if not callable(found):
            return False
        signal.signal(signal.SIGINT, self.notice)
        self.handler = found
        return True

    def let_go(self) -> None:
        """Give the handler back, and let it do what it was kept from."""
        handler, self.handler = self.handler, None
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
            self.deliver(handler)

    def deliver(self, handler: Handler) -> None:
        if self.is_pending:
            self.is_pending = False
            handler(signal.SIGINT, None)


_INTERRUPTS = _Interrupts()


class held:  # noqa: N801  # used like a function
    """Hold Ctrl-C back until the block ends, or asks for it by `check`.

    No generator is behind it: one that an exception keeps alive would end long after its block.
    """

    def __enter__(self) -> None:
        self._is_ours = _INTERRUPTS.hold()

    def __exit__(self, *error: object) -> None:
        if self._is_ours:
            _INTERRUPTS.let_go()


def is_pending() -> bool:
    """Return whether Ctrl-C has come in a block of `held` and waits for its end."""
    return _INTERRUPTS.is_pending and current_thread() is main_thread()


def is_stopping() -> bool:
    """Return whether Ctrl-C has come, and what was begun is to end or is being undone."""
    return is_pending() or isinstance(sys.exception(), KeyboardInterrupt)


def was_forced() -> bool:
    """Return whether a second Ctrl-C has come through the last block of `held`."""
    return _INTERRUPTS.was_forced and current_thread() is main_thread()


class delivered:  # noqa: N801  # used like a function
    """Let Ctrl-C through again: for a part of `held` that may take long and changes nothing."""

    def __enter__(self) -> None:
        self._was_held = _INTERRUPTS.handler is not None and current_thread() is main_thread()
        if self._was_held:
            _INTERRUPTS.let_go()

    def __exit__(self, *error: object) -> None:
        if self._was_held:
            was_forced = _INTERRUPTS.was_forced  # in a part that held it back itself
            _INTERRUPTS.hold()
            _INTERRUPTS.was_forced = was_forced


def check() -> None:
    """Let an interrupt that is held back do its work now."""
    if _INTERRUPTS.is_pending and current_thread() is main_thread():
        handler = _INTERRUPTS.handler
        if handler is not None:
            _INTERRUPTS.deliver(handler)
