"""Tables on a terminal: ruled where columns fit side by side, else a record per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stratalog.knowledge.display.terminal import visible

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST = 12
"""Characters of a column that can be read when its cells are folded into several lines."""

BETWEEN = 3  # characters between two columns


def show_ruled(names: Sequence[str], texts: Sequence[Sequence[str]], sides: Sequence[str]) -> None:
    """Print columns of texts as a table, or as records if the table would be too wide to read."""
    from rich.console import Console

    console = Console()
    names = [visible(name) for name in names]
    if _fit(names, texts, console.width):
        _show_columns(names, texts, sides, console)
    else:
        _show_records(names, texts, console)


def _fit(names: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether each column has its width, or one in which folded cells can be read."""
    widths = [
        max(len(name), *map(len, cells)) if cells else len(name)
        for name, cells in zip(names, texts, strict=True)
    ]
    least = (min(wide, NARROWEST) + BETWEEN for wide in widths)
    return sum(least) <= width


def _show_columns(
    names: Sequence[str], texts: Sequence[Sequence[str]], sides: Sequence[str], console: Console
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    ruled = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name, side in zip(names, sides, strict=True):
        ruled.add_column(
            Text(name), justify="right" if side == "right" else "left", overflow="fold"
        )
    for row in zip(*texts, strict=True):
        ruled.add_row(*(Text(cell) for cell in row))
    console.print(ruled)


def _show_records(names: Sequence[str], texts: Sequence[Sequence[str]], console: Console) -> None:
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    for number, row in enumerate(zip(*texts, strict=True), 1):
        record = Table.grid(padding=(0, 2))
        record.add_column(no_wrap=True, max_width=console.width // 2, overflow="ellipsis")
        record.add_column(overflow="fold")
        for name, cell in zip(names, row, strict=True):
            record.add_row(Text(name, "bold"), Text(cell))
        console.print(Rule(f"row {number}", align="left", style=""), record)
