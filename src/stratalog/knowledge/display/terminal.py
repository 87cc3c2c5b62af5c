"""Text for terminals: characters that would act on one, or hide what stands there, are escaped.

Data may come from strangers. A constant, a name or a path may hold sequences that colour, move or
answer, and marks that turn the direction of writing, so that what is read is not what is there.
What goes into a file or a pipe stays as it is.
"""

from __future__ import annotations

import os
import re
from codecs import getincrementaldecoder
from functools import cache
from typing import Any, BinaryIO, TextIO

CONTROLS = r"\x00-\x1f\x7f-\x9f"
HIDING = (
    r"\x{AD}\x{61C}\x{180E}\x{200B}\x{200E}\x{200F}\x{2028}-\x{202E}\x{2060}-\x{206F}\x{FEFF}"
    r"\x{FFF9}-\x{FFFB}\x{E0000}-\x{E007F}"
)
"""Marks of direction, separators and characters without width; joiners are letters' own business.

Written as Arrow's regular expressions have it.
"""


_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BEYOND = 1 << 16  # code points of more than four digits


def _for_python(characters: str) -> str:
    return re.sub(r"\\x\{([0-9A-F]+)\}", lambda found: rf"\U{found[1]:0>8}", characters)


ODD = f"[{CONTROLS}{HIDING}]"


def visible(text: str, odd: str = ODD) -> str:
    """Return the text with odd characters spelled as escapes, ends of lines and tabs included."""
    return _compiled(odd).sub(_spelled, text)


def visible_lines(text: str) -> str:
    """Return lines of text with odd characters spelled as escapes."""
    return _compiled(rf"(?![\n\t]){ODD}").sub(_spelled, text)


def visible_strings(thing: Any) -> Any:  # noqa: ANN401  # what JSON can hold
    """Return lists and dicts with odd characters in their strings spelled as escapes."""
    if isinstance(thing, str):
        return visible(thing)
    if isinstance(thing, dict):
        return {visible_strings(key): visible_strings(each) for key, each in thing.items()}
    return [visible_strings(each) for each in thing] if isinstance(thing, list | tuple) else thing


class VisibleLines:
    """Passes on the bytes of lines of text with odd characters spelled as escapes."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Any) -> None:  # noqa: ANN401  # bytes or an Arrow buffer
        self._sink.write(visible_lines(self._decoder.decode(bytes(data))).encode())


@cache
def _compiled(odd: str) -> re.Pattern[str]:
    return re.compile(_for_python(odd))


def _spelled(found: re.Match[str]) -> str:
    """Return a character as strings of the rule language, of Turtle and of JSON may have it."""
    code = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\u{code:04X}" if code < _BEYOND else f"\\U{code:08X}")


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person reads the stream."""
    return bool(getattr(stream, "isatty", lambda: False)())


def has_colours(stream: TextIO) -> bool:
    """Return whether the stream is a terminal that may get colours (https://no-color.org)."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not is_plain


def shown_on(stream: TextIO, text: str) -> str:
    """Return lines of text as the stream may get them: unchanged, unless it is a terminal."""
    return visible_lines(text) if is_terminal(stream) else text
