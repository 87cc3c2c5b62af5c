"""Warnings of a run where facts are shown: in notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from stratalog.runtime.telling import told_in_cell


def warnings_html(texts: Iterable[str]) -> str:
    """Return warnings as HTML, but for those that Python shows below the same cell already."""
    style = "color:#8a6d00;white-space:pre-wrap"
    told = told_in_cell()
    left = [text for text in texts if text not in told]
    return "".join(f"<pre style='{style}'>warning: {escape(text)}</pre>" for text in left)
