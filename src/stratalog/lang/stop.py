"""Where the parser stopped, and what explains it to a person."""

from __future__ import annotations

from dataclasses import dataclass

Explanation = tuple[str, str, str]
"""Code, message and help."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the parser stopped: at which word, of which terminal, and what it would have taken."""

    text: str
    position: int
    found: str  # empty at the end of the text
    terminal: str
    wanted: frozenset[str]

    @property
    def before(self) -> str:
        """The text before the stop, as far as it may matter."""
        return self.text[max(0, self.position - 200) : self.position].rstrip()

    @property
    def after(self) -> str:
        """The text after the word of the stop, as far as it may matter."""
        start = self.position + len(self.found)
        return self.text[start : start + 200].lstrip()
