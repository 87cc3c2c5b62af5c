"""What a store says, checked before it is used: a store may come from a stranger.

Files are checked where they are read (pipeline/ordinary, documents, manifest, parquet_check). Here
is what only a knowledge base understands: options, program, plan, statistics, facts. All checks are
linear. What is wrong is T103, and what is not known here T104.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from stratalog.errors import ProgramError, StoreError
from stratalog.facts.labels import STORED
from stratalog.knowledge.options import saved_options
from stratalog.lang.effort import MAX_DIGITS, digits_up_to
from stratalog.lang.names import predicate_name
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate, Program
from stratalog.pipeline import documents as docs
from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.manifest import newer, predicate_in
from stratalog.pipeline.ordinary import damaged
from stratalog.pipeline.snapshot import Snapshot

DEEPEST = 16  # objects and lists in each other: statistics have four

Check = Callable[[object, str], Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a version says besides its constants and facts."""

    program: Program
    plan: list[str]
    options: dict[str, Any]
    statistics: dict[str, Any]
    origins: dict[Predicate, str]
    prefixes: dict[str, str]
    profile: list[dict[str, Any]]
    read_as_triples: list[Predicate]


def checked(saved: Snapshot, path: Path) -> Stored:
    """Return what a version says; T103 if it is odd, T104 if it is of a newer Stratalog."""
    options = _options(saved.options, path)
    _check_labels(saved.labels, path)
    with _odd(path):
        plan = [docs.text(each, "a planned rule") for each in docs.entries(saved.plan, "the plan")]
        statistics = _statistics(saved.statistics)
    _check_names(saved, path)
    with digits_up_to(options.get("max_digits", MAX_DIGITS)):
        program = _program(saved.program, path)
    return Stored(
        program=program,
        plan=plan,
        options=options,
        origins=dict(statistics.pop("origins")),
        prefixes=statistics.pop("prefixes", {}),
        profile=statistics.pop("profile", []),
        read_as_triples=statistics.pop("read_as_triples", []),
        statistics=statistics,
    )


def checked_statistics(told: object, path: Path) -> dict[str, Any]:
    """Return the statistics of a version with those keys that are known here."""
    with _odd(path):
        return _statistics(told)


def checked_stream(told: object) -> dict[str, Any]:
    """Return how far a stream has come; T103 if that is odd."""
    try:
        fields = docs.record(told, "a stream")
        return {name: check(fields[name], name) for name, check in STREAM.items() if name in fields}
    except OddDocumentError as error:
        raise StoreError(
            "T103",
            f"the store does not say how far a stream has come: {error}",
            help="open an earlier version, or start another stream with a new checkpoint",
        ) from None


@contextmanager
def _odd(path: Path) -> Iterator[None]:
    try:
        yield
    except OddDocumentError as error:
        raise damaged(path, str(error)) from None


def _options(told: Mapping[str, object], path: Path) -> dict[str, Any]:
    try:
        return saved_options(told)
    except LookupError as error:
        raise newer(path, f"option {error.args[0][:40]!a}") from None
    except ValueError as error:
        raise damaged(path, f"its option {error.args[0]} has no such value") from None


def _check_labels(told: Mapping[str, int], path: Path) -> None:
    known = {label.name: label.bit for label in STORED}
    if not told.keys() <= known.keys():
        raise newer(path, "labels of facts")
    if any(told.get(name, bit) != bit for name, bit in known.items()) or not {"E", "I"} <= set(
        told
    ):
        raise damaged(path, "its labels have other bits")


def _program(told: object, path: Path) -> Program:
    with _odd(path):
        text = docs.text(told, "the program")
    try:
        return parse_program(text)
    except ProgramError as error:
        raise damaged(path, f"its program cannot be read: {error.code}, {error.message}") from None
    except RecursionError:
        raise damaged(path, "its program is too deep") from None


def _check_names(saved: Snapshot, path: Path) -> None:
    for predicate in saved.relations:
        if not _is_name(predicate.name):
            raise damaged(path, f"{predicate.name[:40]!a} is not the name of a relation")


def _is_name(name: str) -> bool:
    if name.startswith("$"):
        return True  # of ours: whether the plan knows it is seen later
    if name.startswith("<"):
        return name.endswith(">") and len(name) > 1
    try:
        return predicate_name(name) == name
    except ProgramError:
        return False


# -- statistics


def _statistics(told: object) -> dict[str, Any]:
    fields = docs.record(told, "the statistics")
    _check_depth(fields, DEEPEST)
    found = {name: check(fields[name], name) for name, check in KNOWN.items() if name in fields}
    for name in ("origins", "facts", "explicit"):
        docs.field(found, name)
    return {"seconds": 0.0, "phases": {}, **found}


def _check_depth(value: object, left: int) -> None:
    if not left:
        raise OddDocumentError("the statistics are too deep")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict | list):
                _check_depth(each, left - 1)


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OddDocumentError(f"{what} is no number")
    if not -docs.MOST <= value <= docs.MOST or not isfinite(value):
        raise OddDocumentError(f"{what} is too large a number")
    return value


def _each(check: Check) -> Check:
    return lambda value, what: [check(each, what) for each in docs.entries(value, what)]


def _phases(value: object, what: str) -> dict[str, float]:
    return {name: _number(each, name) for name, each in docs.record(value, what).items()}


def _prefixes(value: object, what: str) -> dict[str, str]:
    return {name: docs.text(iri, what) for name, iri in docs.record(value, what).items()}


def _origin(value: object, what: str) -> tuple[Predicate, str]:
    parts = docs.entries(value, what)
    return predicate_in(parts[:-1]), docs.text(parts[-1], what)


def _cost(value: object, what: str) -> dict[str, Any]:
    """Return what a rule took."""
    fields = docs.record(value, what)
    numbers = {name: docs.whole(docs.field(fields, name), name) for name in ("derivations", "rows")}
    rule = docs.text(docs.field(fields, "rule"), "a rule")
    return {"rule": rule, **numbers, "seconds": _number(docs.field(fields, "seconds"), "seconds")}


_COUNTS = (
    "explicit", "derived", "facts", "rounds", "derivations", "bad_lines", "null_rows",
    "graphs_dropped", "added", "removed", "inserted", "deleted", "not_explicit", "rules", "strata",
    "constants", "version",
)  # fmt: skip
KNOWN: dict[str, Check] = {
    **dict.fromkeys(_COUNTS, docs.whole),
    "seconds": _number,
    "bytes_per_fact": _number,
    "maintenance": docs.text,
    "engine": docs.text,
    "engine_why": docs.text,
    "phases": _phases,
    "warnings": _each(docs.text),
    "per_stratum": _each(docs.record),
    "origins": _each(_origin),
    "prefixes": _prefixes,
    "profile": _each(_cost),
    "read_as_triples": _each(lambda value, _: predicate_in(value)),
}
"""The statistics of a version, each with its check; others are passed over."""


# -- streams


def _output(value: object, what: str) -> str | None:
    return None if value is None else docs.text(value, what)


def _token(value: object, what: str) -> str | None:
    token = _output(value, what)
    if token is not None and not _TOKEN.fullmatch(token):
        raise OddDocumentError(f"{what} is none of ours")
    return token


def _shape(value: object, what: str) -> list[list[str]]:
    """Return the columns of a feed: pairs of a name and a type."""
    pairs = [[docs.text(each, what) for each in docs.entries(pair, what)] for pair in _list(value)]
    if any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004
        raise OddDocumentError(f"{what} has no pairs of name and type")
    return pairs


def _list(value: object) -> list[Any]:
    return docs.entries(value, "a schema")


_TOKEN = re.compile(r"[0-9a-f]{1,64}")
STREAM: dict[str, Check] = {
    "batch": lambda value, what: docs.whole(value, what, least=-1),
    "output": _output,
    "token": _token,
    "schemas": lambda value, what: {
        name: _shape(each, what) for name, each in docs.record(value, what).items()
    },
}
"""What a version says of each stream, with its check; other words are passed over."""
