"""What IPython shows of an error that a user can mend, and of Ctrl-C: the user's own lines."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

_OURS = f"{Path(__file__).parent}{os.sep}"
_PYTHONS = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_RED, _PLAIN = "\033[1;31m", "\033[0m"
_AROUND = 2  # lines shown before and after the line of a frame


def short_traceback(error: BaseException) -> list[str]:
    """Return the lines that tell of an error; `%xmode Verbose` shows all frames."""
    shell = _shell()
    if shell is not None and getattr(shell.InteractiveTB, "mode", "") == "Verbose":
        shown: list[str] = shell.InteractiveTB.structured_traceback(
            type(error), error, error.__traceback__, tb_offset=1
        )
        return shown
    lines = _frames(error.__traceback__, shell)
    cause = error.__cause__
    if cause is not None and (frames := _frames(cause.__traceback__, shell)):
        name = type(cause).__name__
        lines = [*frames, f"{name}: {cause}", "", "and so:", "", *lines]
    name, text = type(error).__name__, str(error)
    name = name if os.environ.get("NO_COLOR") else f"{_RED}{name}{_PLAIN}"
    return [*lines, f"{name}: {text}" if text else name]


def show_briefly(error: BaseException) -> None:
    """Let IPython show no frame of Stratalog when it shows this error."""
    vars(error)["_render_traceback_"] = _of_the_last  # the name is IPython's


class shown_briefly:  # noqa: N801  # used like a function
    """Let IPython show no frame of Stratalog if Ctrl-C ends the block."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            show_briefly(error)


def _of_the_last() -> list[str]:
    """Return the lines for the error that is being handled, or was: it does not know itself.

    If it did, there would be a cycle, which keeps alive what its frames hold.
    """
    error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    return [] if error is None else short_traceback(error)


def _shell() -> Any:  # noqa: ANN401  # IPython's
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _frames(trace: TracebackType | None, shell: Any) -> list[str]:  # noqa: ANN401
    """Return the frames of the user's own code: no frame of Stratalog, IPython or a library."""
    lines: list[str] = []
    for frame in traceback.extract_tb(trace):
        if _is_users(frame.filename):
            lines += [_place(frame, shell), *_source(frame), ""]
    return lines


def _is_users(filename: str) -> bool:
    if any(folder in filename for folder in _PACKAGES):
        return False
    return not filename.startswith((_OURS, "<frozen ", *_PYTHONS))


def _place(frame: traceback.FrameSummary, shell: Any) -> str:  # noqa: ANN401
    naming = getattr(getattr(shell, "compile", None), "format_code_name", None)
    kind, name = (naming(frame.filename) if naming else None) or ("File", frame.filename)
    function = "" if frame.name == "<module>" else f", in {frame.name}"
    return f"{kind} {name}, line {frame.lineno}{function}"


def _source(frame: traceback.FrameSummary) -> list[str]:
    """Return the line of a frame, and those around it, if they are known."""
    import linecache

    if frame.lineno is None:
        return []
    first = max(1, frame.lineno - _AROUND)
    numbered = [
        (number, linecache.getline(frame.filename, number).rstrip("\n"))
        for number in range(first, frame.lineno + _AROUND + 1)
    ]
    width = len(str(frame.lineno + _AROUND))
    return [
        f"{'--->' if number == frame.lineno else '    '} {number:>{width}} {text}"
        for number, text in numbered
        if text or number == frame.lineno
    ]
