"""What people see: notes and errors on stderr; tables, ruled on a terminal, aligned in a pipe."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from stratalog.cli.ruled import show_ruled
from stratalog.errors import StratalogWarning
from stratalog.knowledge.display.progress import plural
from stratalog.knowledge.display.table_texts import cell_texts, is_number
from stratalog.knowledge.display.terminal import (
    CONTROLS,
    HIDING,
    has_colours,
    is_terminal,
    shown_on,
)

if TYPE_CHECKING:
    import pyarrow as pa

_RED, _YELLOW, _PLAIN = "\033[1;31m", "\033[1;33m", "\033[0m"


def note(text: str) -> None:
    """Print a line for the person at the terminal."""
    _note(shown_on(sys.stderr, text))


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # stderr is for this


def answer(text: str) -> None:
    """Print a line of the result."""
    print(shown_on(sys.stdout, text))  # noqa: T201  # stdout is for this


def show_error(text: str) -> None:
    """Print an error, its code in bold red on a terminal."""
    _note(_coloured(text, _RED))


def show_warning(text: str) -> None:
    """Print a warning."""
    _note(_coloured(f"warning: {text}", _YELLOW))


def _coloured(text: str, colour: str) -> str:
    text = shown_on(sys.stderr, text)
    code, colon, rest = text.partition(":")
    return f"{colour}{code}{_PLAIN}{colon}{rest}" if has_colours(sys.stderr) and colon else text


@contextmanager
def listening() -> Iterator[None]:
    """Print the library's warnings as they come, and those of others as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", StratalogWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, *rest: Any) -> None:  # noqa: ANN401  # others' warnings
            if isinstance(message, StratalogWarning):
                show_warning(str(message))
            else:
                usual(message, *rest)

        warnings.showwarning = cast("Any", show)
        yield


def show_table(table: pa.Table, target: TextIO) -> None:
    """Print a table: ruled on a terminal, otherwise aligned text."""
    odd = f"[{CONTROLS}{HIDING if is_terminal(target) else ''}]"
    texts = [cell_texts(column, odd) for column in table.columns]
    if not texts:
        _put(target, "()\n" * table.num_rows)
    elif is_terminal(target):
        sides = ["right" if is_number(column) else "left" for column in table.columns]
        show_ruled(table.column_names, [cells.to_pylist() for cells in texts], sides)
    else:
        _put(target, _aligned(table, texts))


def show_rows(names: Sequence[str], rows: Sequence[Sequence[object]], target: TextIO) -> None:
    """Print a few rows of Python values as a table."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [pa.array(list(column), None if column else pa.string()) for column in columns]
    show_table(pa.table(arrays, names=list(names)), target)


def _put(target: TextIO, text: str) -> None:
    target.write(text)
    target.flush()


def _aligned(table: pa.Table, texts: list[Any]) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    padded = []
    for name, column, cells in zip(table.column_names, table.columns, texts, strict=True):
        whole = pa.concat_arrays([pa.array([name], pa.large_string()), cells])
        width = pc.max(pc.utf8_length(whole)).as_py()
        pad = pc.utf8_lpad if is_number(column) else pc.utf8_rpad
        padded.append(pad(whole, width))
    lines = pc.binary_join_element_wise(*padded, pa.scalar("  ", pa.large_string()))
    return "\n".join(pc.utf8_rtrim_whitespace(lines).to_pylist()) + "\n"


def summary(stats: dict[str, Any], seconds: float, place: str = "") -> str:
    """Return the line that ends a run."""
    return (
        f"{stats['explicit']:,} explicit + {stats['derived']:,} derived facts, "
        f"{plural(stats['rounds'], 'round')}, {plural(stats['derivations'], 'derivation')}, "
        f"{seconds:.2f} s" + (f" -> {place}" if place else "")
    )
