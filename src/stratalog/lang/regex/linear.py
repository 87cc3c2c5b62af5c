"""Patterns without back-references, run by RE2: its time grows with text times pattern, no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from stratalog.errors import EngineError
from stratalog.lang import effort
from stratalog.lang.regex.errors import UnsupportedRegexError
from stratalog.lang.regex.parse import (
    Back,
    Choice,
    Edge,
    Group,
    Node,
    OneOf,
    Regex,
    Repeat,
    Sequence,
)
from stratalog.lang.regex.sets import ALL, Ranges

if TYPE_CHECKING:
    import re2

LONGEST_SOURCE = 1 << 20
QUICK = 50_000_000  # steps of RE2 that take a fraction of a second
MOST_STEPS = 20_000_000_000
_LOOK = 0.05  # seconds

Piece = tuple[str, list[str] | None]
Found = TypeVar("Found")


class Linear:
    """A pattern that RE2 runs."""

    def __init__(self, regex: Regex) -> None:
        self._compiled = _compiled(_Source(regex).text())
        self._size: int = max(1, self._compiled.programsize)
        self._unchecked = 0  # steps since limits were looked at

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text."""
        data = text.encode()  # RE2 counts bytes: only where it matched would be of interest in text
        return self._patiently(lambda: self._compiled.search(data), len(data)) is not None

    def pieces(self, text: str) -> Iterator[Piece]:
        """Yield what stands before each match, the match and its groups; at last the rest."""
        data = text.encode()  # in text, RE2's places would have to be counted anew
        found = self._compiled.finditer(data)
        groups = range(self._compiled.groups + 1)
        at = 0
        while (match := self._patiently(lambda: next(found, None), len(data) - at)) is not None:
            before = data[at : match.start()].decode()
            yield before, [(match[group] or b"").decode() for group in groups]
            at = match.end()
        yield data[at:].decode(), None

    def _patiently(self, call: Callable[[], Found], length: int) -> Found:
        """Return what a call of RE2 returns, looking at limits while it takes long."""
        steps = length * self._size
        if steps < QUICK:
            self._unchecked += steps
            if self._unchecked > QUICK:
                self._unchecked = 0
                effort.check()
            return call()
        if steps > MOST_STEPS:
            raise EngineError(
                effort.TOO_LARGE,
                f"a regular expression of {self._size:,} steps on {length:,} characters",
                help="shorten the texts, or take {n,m} and large classes out of the pattern",
            )
        return _in_thread(call)


def _in_thread(call: Callable[[], Found]) -> Found:
    """Call in a thread, so that limits and Ctrl-C are looked at: RE2 itself cannot be stopped."""
    outcome: list[Found] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is awaited
            failed.append(error)

    effort.check()
    thread = Thread(target=run, daemon=True, name="stratalog-regex")
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK)
        effort.check()
    if failed:
        raise failed[0]
    return outcome[0]


def _compiled(source: str) -> Any:  # noqa: ANN401  # RE2 has no types
    import re2

    try:
        return re2.compile(source, _options(re2))
    except re2.error as error:
        raise UnsupportedRegexError(
            "a regular expression that is too large: its repetitions, multiplied, are above 1,000,"
            " or it has too many parts"
        ) from error


def _options(re2: Any) -> re2.Options:  # noqa: ANN401  # RE2 has no types
    options = re2.Options()
    options.log_errors = False
    return options


class _Source:
    """Writes a pattern in RE2's language, in which every set is spelled out."""

    def __init__(self, regex: Regex) -> None:
        self._is_multiline = "m" in regex.flags
        self._parts: list[str] = []
        self._length = 0
        self._write(regex.node)

    def text(self) -> str:
        return "".join(self._parts)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        if self._length > LONGEST_SOURCE:
            raise UnsupportedRegexError("a regular expression whose classes are too large")

    def _write(self, node: Node) -> None:
        match node:
            case OneOf(ranges=ranges):
                self._add(_spelled(ranges))
            case Sequence(parts=parts):
                for part in parts:
                    self._write(part)
            case Choice(branches=branches):
                self._choice(branches)
            case Repeat():
                self._repeat(node)
            case Group(part=part):
                self._inside("(", part, ")")
            case Edge(is_start=is_start):
                self._add(self._edge(is_start=is_start))
            case Back():
                raise AssertionError("RE2 has no back-references")

    def _inside(self, before: str, node: Node, after: str) -> None:
        self._add(before)
        self._write(node)
        self._add(after)

    def _choice(self, branches: tuple[Node, ...]) -> None:
        for place, branch in enumerate(branches):
            self._inside("|" if place else "(?:", branch, "")
        self._add(")")

    def _repeat(self, node: Repeat) -> None:
        most = "" if node.most is None else node.most
        lazy = "?" if node.is_lazy else ""
        self._inside("(?:", node.part, f"){{{node.least},{most}}}{lazy}")

    def _edge(self, *, is_start: bool) -> str:
        if self._is_multiline:
            return "(?m:^)" if is_start else "(?m:$)"
        return "\\A" if is_start else "\\z"


@lru_cache(maxsize=256)
def _spelled(ranges: Ranges) -> str:
    if ranges == ALL:
        return "(?s:.)"
    if not ranges:
        return "[^\\x00-\\x{10ffff}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"\\x{{{ranges[0][0]:x}}}"
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges) + "]"
