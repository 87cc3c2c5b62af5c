"""Warnings of a run where facts are shown: in notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def warnings_html(texts: Iterable[str]) -> str:
    """Return warnings as HTML, lines and carets in their places."""
    style = "color:#8a6d00;white-space:pre-wrap"
    return "".join(f"<pre style='{style}'>warning: {escape(text)}</pre>" for text in texts)
