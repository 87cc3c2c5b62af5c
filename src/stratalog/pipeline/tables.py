"""Tables to encoded columns: which of a table's columns a predicate takes, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.lang.names import split_arity
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.pipeline.convert import Encoded, PythonColumn, Unreadable, encode_column
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import TABLE, TEXT, Ids
from stratalog.pipeline.files import BadLine, ReadReport
from stratalog.pipeline.long_numbers import long_error, told_long
from stratalog.pipeline.native import KIND_OF_TYPE
from stratalog.pipeline.order import are_plain_texts, columns_by_row, intern_rows
from stratalog.pipeline.shown import shown

TYPE_KEY = b"stratalog.type"
"""In the metadata of a field that we wrote: its type, so that terms are read as such."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the program says about its predicates: declared columns, arities in use, prefixes."""

    declarations: Sequence[Declaration] = ()
    arities: Mapping[str, set[int]] = field(default_factory=dict)
    prefixes: Sequence[tuple[str, str]] = ()

    def declared(self, name: str) -> list[Declaration]:
        """Return the declarations of a name, the widest first; only an IRI can have several."""
        if not self.declarations:
            return []
        wanted, arity = split_arity(name)
        found = [each for each in self.declarations if each.predicate.name == wanted]
        found = [each for each in found if arity in {"", str(each.predicate.arity)}]
        return sorted(found, key=lambda each: -each.predicate.arity)

    def widths(self, name: str) -> set[int]:
        """Return the arities that tables of a name may have; empty if it is not known at all.

        `name/2` says it; a class may become a property too, since arity is part of an IRI's name.
        """
        arity = split_arity(name)[1]
        if arity:
            return {int(arity)}
        known = set(self.arities.get(name, ())) | {e.predicate.arity for e in self.declared(name)}
        return known | {2} if name.startswith("<") and 1 in known else known


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows come from, and what becomes of bad ones."""

    path: str | None = None
    origin: str = TABLE
    first_row: int = 0  # of a block within its table
    line: Callable[[int], int] | None = None  # the line of a row, for text files
    text: Callable[[int], str] | None = None  # the line itself
    skip: bool = False  # count bad rows instead of raising

    def at(self, row: int) -> int | None:
        """Return the line of a row of a text file, or None."""
        return None if self.line is None else self.line(row)

    def named(self, row: int) -> str:
        """Return the place of a row for a message; rows count from one."""
        return "" if self.line is not None else f" in row {self.first_row + row + 1}"


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a table, by columns; `names` is None where columns have none."""

    names: Sequence[str] | None
    columns: Sequence[Any]
    size: int
    types: Sequence[str | None] = ()  # found in the fields' metadata


def block_of(table: pa.Table | pa.RecordBatch) -> Block:
    """Return an Arrow table as a block."""
    types = [
        (each.metadata or {}).get(TYPE_KEY, b"").decode() if each.metadata else None
        for each in table.schema
    ]
    known = [each if each in KIND_OF_TYPE or each == "term" else None for each in types]
    return Block(table.schema.names, table.columns, table.num_rows, known)


def encode_table(
    table: pa.Table | pa.RecordBatch,
    name: str,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    report: ReadReport,
    source: Source,
) -> tuple[list[Ids], int]:
    """Return the encoded columns of an Arrow table, and how many facts they hold."""
    return encode_block(block_of(table), name, vocabulary, dictionary, report, source)


def encode_block(
    block: Block,
    name: str,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    report: ReadReport,
    source: Source,
) -> tuple[list[Ids], int]:
    """Return the encoded columns of a block, and how many facts they hold."""
    chosen, columns = choose_columns(block, name, vocabulary, source)
    as_texts = all(each.type in (OWN_TYPE, "string") for each in chosen)
    is_checked = source.origin == TEXT
    if len(columns) > 1 and as_texts and are_plain_texts(columns, is_checked=is_checked):
        report.rows += block.size
        return intern_rows(dictionary, columns), block.size
    known = len(dictionary)
    with dictionary.taking_long_numbers():
        pairs = zip(columns, chosen, strict=True)
        encoded = [_encode(column, wanted, dictionary, source) for column, wanted in pairs]
        encoded = told_long(encoded, dictionary, known)
        kept = _kept_rows(block.size, columns, chosen, encoded, report, source)
    ids = [each.ids if kept is None else each.ids[kept] for each in encoded]
    size = block.size if kept is None else int(np.count_nonzero(kept))
    report.rows += size
    return columns_by_row(dictionary, known, ids), size


def _encode(column: Any, wanted: Column, dictionary: Dictionary, source: Source) -> Encoded:  # noqa: ANN401
    target = None if wanted.type == OWN_TYPE else wanted.type
    try:
        return encode_column(column, target, dictionary, empty_is_null=source.origin == TEXT)
    except DataError as error:
        message = f"column {wanted.source or wanted.name}: {error.message}"
        raise DataError(error.code, message, path=source.path, help=error.help) from None
    except Unreadable as unreadable:
        raise DataError(
            "D305",
            f"column {wanted.source or wanted.name} holds {unreadable}, which is no constant",
            path=source.path,
            help=_advice(str(unreadable)),
        ) from None


OWN_TYPE = "its own"


def choose_columns(
    block: Block, name: str, vocabulary: Vocabulary, source: Source
) -> tuple[list[Column], list[Any]]:
    """Return the columns that a predicate takes from a block, described and themselves."""
    declared = vocabulary.declared(name)
    if declared and block.names is not None:
        fits = [each for each in declared if not _missing(block, each)]
        declaration = fits[0] if fits else declared[0]
        return list(declaration.columns), [
            _find(block, column, declaration, source) for column in declaration.columns
        ]
    width = len(block.columns)
    for declaration in declared:
        if declaration.predicate.arity == width:
            return list(declaration.columns), list(block.columns)
    known = vocabulary.widths(name)
    if known and width not in known:
        raise _wrong_width(block, name, known, source)
    types = block.types or [None] * width
    names = block.names or [f"c{place}" for place in range(width)]
    own = [Column(each, found or OWN_TYPE) for each, found in zip(names, types, strict=True)]
    return own, list(block.columns)


def fed_by(name: str, width: int) -> Predicate:
    """Return the predicate that a table of a name and width feeds."""
    return Predicate(split_arity(name)[0], width)


def _missing(block: Block, declaration: Declaration) -> list[str]:
    wanted = (column.source or column.name for column in declaration.columns)
    return [each for each in wanted if _lookup(block, each) is None]


def _find(block: Block, column: Column, declaration: Declaration, source: Source) -> Any:  # noqa: ANN401
    wanted = column.source or column.name
    found = _lookup(block, wanted)
    if found is None:
        raise DataError(
            "D301",
            f"there is no column {wanted} for {declaration.predicate.name}; "
            f"the columns are {_listed(block)}",
            path=source.path,
            help=f'rename it, or declare  {column.name} {column.type} = "name in the table"',
        )
    if len(found) > 1:
        raise DataError(
            "D301",
            f"there are {len(found)} columns named {wanted}",
            path=source.path,
            help="give the columns different names",
        )
    return found[0]


def _lookup(block: Block, wanted: str) -> list[Any] | None:
    """Return the columns of that name, or the one at that path into a struct, or None."""
    names = list(block.names or ())
    found = [block.columns[place] for place, each in enumerate(names) if each == wanted]
    if found or "." not in wanted:
        return found or None
    for cut, mark in enumerate(wanted):
        if mark == "." and wanted[:cut] in names:
            inner = _inside(block.columns[names.index(wanted[:cut])], wanted[cut + 1 :])
            if inner is not None:
                return [inner]
    return None


def _inside(column: Any, path: str) -> Any:  # noqa: ANN401
    """Return the column at a path into a struct; a null struct has null fields."""
    if isinstance(column, PythonColumn):
        return PythonColumn([member(value, path) for value in column.values], spelled=True)
    if not pa.types.is_struct(column.type):
        return None
    fields = [column.type.field(place).name for place in range(column.type.num_fields)]
    if path in fields:
        return pc.struct_field(column, [fields.index(path)])
    for cut, mark in enumerate(path):
        if mark == "." and path[:cut] in fields:
            return _inside(pc.struct_field(column, [fields.index(path[:cut])]), path[cut + 1 :])
    return None


def member(value: object, path: str) -> object:
    """Return what a dict holds at a path, or None."""
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    return member(value.get(head), rest) if dot else None


def _wrong_width(block: Block, name: str, known: Iterable[int], source: Source) -> DataError:
    expected = " or ".join(map(str, sorted(known)))
    width = len(block.columns)
    bare, arity = split_arity(name)
    advice = f"choose the columns, or name them:  @declare {bare}(column type, ...) ."
    if block.names is None:
        wanted = _amount(width, "argument")
        advice = f"give rows of {_amount(expected, 'value')}, or write {wanted} in rules,"
        advice += " _ where one is not needed"
    if bare.startswith("<") and not arity:
        advice += f"; if {bare} is a predicate of another arity too, write {bare}/{width}"
    arguments, columns = _amount(expected, "argument"), _amount(width, "column")
    told = f"{columns} without names" if block.names is None else f"{columns}: {_listed(block)}"
    return DataError(
        "D301",
        f"{name} has {arguments} in the program, but the table has {told}",
        path=source.path,
        help=advice,
    )


def _amount(number: object, word: str) -> str:
    return f"{number} {word}{'' if str(number) == '1' else 's'}"


def _listed(block: Block) -> str:
    return ", ".join(block.names or ()) or "none"


def _advice(what: str) -> str:
    if what.startswith("struct") or what == "dict":
        return 'declare the field that you need by its path, such as  id string = "buyer.id"'
    if what.startswith(("list", "large_list", "fixed_size_list", "map", "set", "tuple")):
        return "make one row per element, in a table of its own"
    if "binary" in what or what in ("bytes", "bytearray"):
        return "decode the bytes to text, or write them as hexadecimal digits"
    return "convert the column to text, a number, a boolean or a date"


def _kept_rows(  # the parts of one decision
    size: int,
    columns: Sequence[Any],
    chosen: Sequence[Column],
    encoded: Sequence[Any],
    report: ReadReport,
    source: Source,
) -> Any:  # noqa: ANN401
    """Return which rows give facts, None for all; bad rows raise or are counted."""
    if all(each.nulls is None and each.bad is None for each in encoded):
        return None
    empty, wrong = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for column, each in zip(chosen, encoded, strict=True):
        if each.nulls is not None:
            (empty if column.nullable else wrong)[:] |= each.nulls
        if each.bad is not None:
            wrong |= each.bad
    for row in np.flatnonzero(wrong).tolist():
        error = _bad_row(row, columns, chosen, encoded, source)
        if not source.skip:
            raise error
        text = source.text(row) if source.text else _row_text(columns, row)
        report.reject(BadLine(source.path or "", source.at(row), error.message, text))
    report.null_rows += int(np.count_nonzero(empty & ~wrong))
    return ~(empty | wrong)


def _bad_row(
    row: int,
    columns: Sequence[Any],
    chosen: Sequence[Column],
    encoded: Sequence[Any],
    source: Source,
) -> DataError:
    for place, (column, wanted, each) in enumerate(zip(columns, chosen, encoded, strict=True)):
        name = wanted.source or wanted.name
        if each.nulls is not None and each.nulls[row] and not wanted.nullable:
            return _null_error(name, wanted, row, source)
        if each.garbled is not None and each.garbled[row]:
            return _garbled_error(name, row, source)
        if each.long is not None and each.long.rows[row]:
            what = f"{shown(column, row)} in column {name}{source.named(row)}"
            return long_error(what, each.long.most, source.path, source.at(row))
        if each.bad is not None and each.bad[row]:
            return DataError(
                "D302",
                f"{shown(column, row)} in column {name}{source.named(row)} is no "
                f"{'value of its type' if wanted.type == OWN_TYPE else wanted.type}",
                path=source.path,
                line=source.at(row),
                help=_type_help(wanted, place),
            )
    raise AssertionError(row)


def _null_error(name: str, wanted: Column, row: int, source: Source) -> DataError:
    kind = "type" if wanted.type == OWN_TYPE else wanted.type
    return DataError(
        "D304",
        f"column {name}{source.named(row)} is {'empty' if source.origin == TEXT else 'null'}",
        path=source.path,
        line=source.at(row),
        help=f"remove such rows, or declare  {wanted.name} {kind}?  so that they give no fact",
    )


def _garbled_error(name: str, row: int, source: Source) -> DataError:
    return DataError(
        "D102",
        f"the text in column {name}{source.named(row)} is not valid UTF-8",
        path=source.path,
        line=source.at(row),
        help="write the column again as UTF-8, or skip bad input",
    )


EXAMPLES = {
    "integer": "42",
    "decimal": "2.50",
    "double": "1e-3",
    "boolean": "true or false",
    "date": "2026-01-31",
    "dateTime": "2026-01-31T12:00:00 or 2026-01-31T12:00:00Z",
    "iri": "http://example.org/a, without angle brackets",
    "term": '<http://example.org/a>, "text" or "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    "string": "plain text",
}


def _type_help(wanted: Column, place: int) -> str:
    if wanted.type == OWN_TYPE:
        return "convert the column to text first"
    return (
        f"a value of type {wanted.type} is written {EXAMPLES[wanted.type]}; correct column "
        f"{place + 1}, or change the declaration"
    )


def _row_text(columns: Sequence[Any], row: int) -> str:
    return "\t".join(shown(column, row) for column in columns)


def later(source: Source, rows: int) -> Source:
    """Return the source of the block that follows `rows` more rows."""
    return replace(source, first_row=source.first_row + rows)
