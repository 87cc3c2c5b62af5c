"""Arrow tables as HTML: the first rows, every column, long values cut where they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from stratalog.knowledge.display.table_texts import cell_texts, is_number
from stratalog.knowledge.display.terminal import ODD, visible

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 50
"""Rows of a table in a notebook."""

FOLDED, SHOWN, LONGEST = 40, 100, 1_000
"""Characters of a value from which it may take several lines, is cut, and is not sent at all."""

_SHORT, _LONG = "white-space:nowrap", "min-width:20em"


def table_html(table: pa.Table) -> str:
    """Return the table as HTML; one without columns says whether it holds."""
    if not table.num_columns:
        return "<div>true</div>" if table.num_rows else "<div>false</div>"
    shown = table.slice(0, ROWS)
    sides = ["right" if is_number(column) else "left" for column in shown.columns]
    texts = [cell_texts(column, ODD).to_pylist() for column in shown.columns]
    size = f"{table.num_rows:,} {'row' if table.num_rows == 1 else 'rows'}"
    told = f"the first {ROWS} of {size}" if table.num_rows > ROWS else size
    return rows_html(table.column_names, zip(*texts, strict=True), sides, told)


def rows_html(
    names: Sequence[str], rows: Iterable[Sequence[str]], sides: Sequence[str], told: str
) -> str:
    """Return rows as a table that scrolls sideways where it is wide, and a line below it."""
    head = _row("th", [visible(name) for name in names], sides)
    body = "".join(_row("td", row, sides) for row in rows)
    return (
        f'<div style="overflow-x:auto"><table><thead>{head}</thead><tbody>{body}</tbody></table>'
        "</div>" + (f"<div>{escape(told)}</div>" if told else "")
    )


def _row(tag: str, texts: Sequence[str], sides: Sequence[str]) -> str:
    cells = (_cell(tag, text, side) for text, side in zip(texts, sides, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(tag: str, text: str, side: str) -> str:
    """Return a cell; what is cut can be read by pointing at it."""
    style = f"text-align:{side};{_LONG if len(text) > FOLDED else _SHORT}"
    title = f' title="{escape(text[:LONGEST])}"' if len(text) > SHOWN else ""
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f'<{tag} style="{style}"{title}>{escape(shown)}</{tag}>'
