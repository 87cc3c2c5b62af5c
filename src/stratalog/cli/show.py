"""What people see: notes and errors on stderr; tables, ruled on a terminal, aligned in a pipe."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from stratalog.errors import StratalogWarning
from stratalog.knowledge.progress import plural
from stratalog.knowledge.terminal import CONTROLS, HIDING, is_terminal, shown_on, visible

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("int", "uint", "float", "double", "decimal")  # Arrow types aligned to the right
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
    return f"{colour}{code}{_PLAIN}{colon}{rest}" if is_terminal(sys.stderr) and colon else text


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
    texts = [_cells(column, odd) for column in table.columns]
    if not texts:
        _put(target, "()\n" * table.num_rows)
    elif is_terminal(target):
        _show_ruled(table, texts)
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


def _cells(column: Any, odd: str) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the canonical text of each value, with odd characters escaped."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from stratalog.lang.terms import STRING
    from stratalog.pipeline.native import kind_of, native_texts, plain_array

    values = plain_array(column)
    if kind_of(values.type) not in {None, STRING}:
        coded = values.dictionary_encode()
        values = native_texts(coded.dictionary)[0].take(coded.indices)
    values = pc.cast(values, pa.large_string()).fill_null("")
    found = pc.match_substring_regex(values, odd)
    if not pc.any(found, min_count=0).as_py():
        return values
    exact = [visible(text, odd) for text in values.filter(found).to_pylist()]
    return pc.replace_with_mask(values, found, pa.array(exact, pa.large_string()))


def _is_number(column: Any) -> bool:  # noqa: ANN401
    return str(column.type).startswith(NUMBERS)


def _aligned(table: pa.Table, texts: list[Any]) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    padded = []
    for name, column, cells in zip(table.column_names, table.columns, texts, strict=True):
        whole = pa.concat_arrays([pa.array([name], pa.large_string()), cells])
        width = pc.max(pc.utf8_length(whole)).as_py()
        pad = pc.utf8_lpad if _is_number(column) else pc.utf8_rpad
        padded.append(pad(whole, width))
    lines = pc.binary_join_element_wise(*padded, pa.scalar("  ", pa.large_string()))
    return "\n".join(pc.utf8_rtrim_whitespace(lines).to_pylist()) + "\n"


def _show_ruled(table: pa.Table, texts: list[Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    ruled = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name, column in zip(table.column_names, table.columns, strict=True):
        ruled.add_column(
            Text(visible(name)), justify="right" if _is_number(column) else "left", overflow="fold"
        )
    for row in zip(*(cells.to_pylist() for cells in texts), strict=True):
        ruled.add_row(*(Text(cell) for cell in row))
    Console().print(ruled)


def summary(stats: dict[str, Any], seconds: float, place: str = "") -> str:
    """Return the line that ends a run."""
    return (
        f"{stats['explicit']:,} explicit + {stats['derived']:,} derived facts, "
        f"{plural(stats['rounds'], 'round')}, {plural(stats['derivations'], 'derivation')}, "
        f"{seconds:.2f} s" + (f" -> {place}" if place else "")
    )
