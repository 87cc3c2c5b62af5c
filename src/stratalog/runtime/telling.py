"""How warnings reach people: by Python's own `warnings`, at the line that called Stratalog."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from stratalog.errors import StratalogWarning
from stratalog.runtime import kernel

_log = logging.getLogger("stratalog")

_OURS = f"{Path(__file__).parents[1]}{os.sep}"
_BETWEEN = frozenset({"contextlib.py"})  # stands between two frames of ours


class _Cell:
    """What has been told below one cell of a notebook."""

    number: int | None = None
    texts: frozenset[str] = frozenset()


def tell(warning: StratalogWarning) -> None:
    """Warn at the user's call, whichever function of ours it called."""
    _Cell.texts, _Cell.number = told_in_cell() | {str(warning)}, kernel.cell()
    _log.info(warning)  # for logs that are kept; what people see comes by `warnings`
    warnings.warn(warning, stacklevel=_calls_within())


def told_in_cell() -> frozenset[str]:
    """Return the warnings that are shown below the running cell of a notebook already."""
    number = kernel.cell()
    return _Cell.texts if number is not None and number == _Cell.number else frozenset()


def _calls_within() -> int:
    """Return the stack level of the first caller that is not ours, seen from `tell`."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001  # as `warnings` itself does
    while _is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(path: str) -> bool:
    return path.startswith(_OURS) or Path(path).name in _BETWEEN


class Warned:
    """The warnings of one call, each told once, as soon as it is known."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def tell(self, found: Iterable[StratalogWarning]) -> None:
        """Tell those that this call has not told before."""
        for warning in found:
            text = str(warning)
            if text not in self.texts:
                self.texts.append(text)
                tell(warning)
