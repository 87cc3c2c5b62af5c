"""The options of `materialise`: checked, and refused loudly where a choice does not exist yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from stratalog.errors import EngineError
from stratalog.knowledge import amounts as amount
from stratalog.knowledge.values import check_value
from stratalog.lang.effort import MAX_DIGITS
from stratalog.reason.algorithms import ALGORITHMS

CHOICES: dict[str, tuple[str | None, ...]] = {
    "engine": ("auto", "columnar", "spark", "reference"),
    "maintenance": ("auto", *ALGORITHMS),
    "modules": ("auto", "off", "paper"),
    "schemes": ("auto", "plain", "paper"),
    "equality": ("auto", "rewrite", "axioms", "off"),
    "joins": ("auto", "plan", "hypertree"),
    "graphs": ("drop", "keep"),
    "on_bad_input": ("error", "skip"),
    "reader": ("auto", "local", "spark"),
    "spill": (None, "spark"),
}

NOT_YET: dict[str, tuple[str, ...]] = {
    "schemes": ("plain", "paper"),
    "equality": ("rewrite", "axioms"),
    "joins": ("hypertree",),
}
"""Choices that are part of the contract and not built yet."""

ALL = "all"
"""The choice of `keep` that no version is dropped."""


def _is_keep(value: object) -> bool:
    return value == ALL or (type(value) is int and value > 0)


def _is_digits(value: object) -> bool:
    return type(value) is int and amount.LEAST_DIGITS <= value <= amount.MOST_DIGITS


SAVED: dict[str, Callable[[object], bool]] = {
    "maintenance": lambda value: value in CHOICES["maintenance"],
    "modules": lambda value: value in CHOICES["modules"],
    "equality": lambda value: value in CHOICES["equality"],
    "joins": lambda value: value in CHOICES["joins"],
    "keep": _is_keep,
    "max_digits": _is_digits,
}
"""What a store remembers, for it belongs to the data, and which values it may have there.

Where and how to run (engine, Spark's settings, limits) is the caller's: a store may come from a
stranger.
"""

NO_LONGER_SAVED: dict[str, tuple[str, ...]] = {
    "engine": ("auto", "columnar", "spark", "reference"),
    "schemes": ("auto", "plain"),
}
"""What earlier stores remember, with the values they may have; they are passed over."""

MADE_WITH = ("modules", "schemes", "equality", "joins", "store", "publish")
"""Options that belong to the making of a store, not to its opening."""

Progress = Callable[[str, str], None]
"""Called with a stage (spark, read, plan, reason, save, publish) and what it is doing."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to read, reason and keep."""

    engine: str = "auto"
    maintenance: str = "auto"
    modules: str = "auto"
    schemes: str = "auto"
    equality: str = "auto"
    joins: str = "auto"
    graphs: str = "drop"
    on_bad_input: str = "error"
    header: bool = False
    threads: int | None = None
    memory: int | None = None
    max_facts: int | None = None
    timeout: float | None = None
    max_digits: int = MAX_DIGITS
    spill: str | None = None
    progress: Progress | bool | str | None = None
    store: str | os.PathLike[str] | None = None
    keep: int | str | None = None  # how many versions stay; None is what the store says
    publish: str | os.PathLike[str] | None = None
    reader: str = "auto"
    spark: Any = None  # a SparkSession
    master: str | None = None
    conf: Mapping[str, object] | None = None

    def saved(self) -> dict[str, Any]:
        """Return the options that a store remembers."""
        usual = {"keep": None, "max_digits": MAX_DIGITS}  # earlier versions do not know them
        chosen = {name: getattr(self, name) for name in SAVED}
        return {n: value for n, value in chosen.items() if n not in usual or value != usual[n]}


def saved_options(told: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that a store remembers; ValueError names one with an odd value.

    LookupError names one that is not known here, or has a choice that does not exist yet.
    """
    found: dict[str, Any] = {}
    for name, value in told.items():
        if name in NO_LONGER_SAVED:
            if value not in NO_LONGER_SAVED[name]:
                raise ValueError(name)
        elif name not in SAVED or value in NOT_YET.get(name, ()):
            raise LookupError(name)
        elif not SAVED[name](value):
            raise ValueError(name)
        else:
            found[name] = value
    return found


def check_options(**given: Any) -> Options:  # noqa: ANN401  # they are checked here
    """Return the options, or an error that says which one is wrong."""
    for name, value in given.items():
        if name not in Options.__slots__:
            raise EngineError(
                "E120", f"unknown option {name!r}", help=_similar(name, Options.__slots__)
            )
        check_value(name, value)
        if name in CHOICES and value not in CHOICES[name]:
            raise EngineError(
                "E120",
                f"{name}={value!r} is not a choice",
                help=f"one of {', '.join(map(str, CHOICES[name]))}",
            )
        if value in NOT_YET.get(name, ()):
            ready = [str(c) for c in CHOICES[name] if c not in NOT_YET[name] and c != "reference"]
            raise EngineError(
                "E121", f"{name}={value!r} is not supported yet", help=f"one of {', '.join(ready)}"
            )
        if name == "keep" and value is not None:
            _check_keep(value)
    chosen = Options(**{**given, **_amounts(given)})
    if chosen.spill is not None and chosen.engine in {"spark", "reference"}:
        raise EngineError(
            "E120",
            f'spill={chosen.spill!r} and engine="{chosen.engine}"',
            help='it is the columnar engine that may go over: engine="auto" or "columnar"',
        )
    _check_spark(chosen)
    return chosen


def _amounts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are amounts, read; None is the default."""
    amounts = {name: value for name, value in given.items() if name in amount.READERS}
    defaults = {"max_digits": MAX_DIGITS}
    return {
        name: defaults.get(name) if value is None else amount.READERS[name](value)
        for name, value in amounts.items()
    }


def check_reopening(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for opening a store, read; refuse those that belong to its making.

    None says nothing where the store says something.
    """
    chosen = check_options(**given)
    for name in given:
        if name in MADE_WITH:
            raise EngineError(
                "E120",
                f"{name} is no option of opening a store",
                help=f"it belongs to materialise; here: {', '.join(_reopening())}",
            )
    told = [name for name, value in given.items() if value is not None or name not in SAVED]
    return {name: getattr(chosen, name) for name in told}


def reopening(chosen: Options) -> dict[str, Any]:
    """Return what to open a store with, so that all is as it was chosen.

    What was left to its default is left to what the store says by then.
    """
    usual = Options()
    found = {name: getattr(chosen, name) for name in _reopening()}
    return {n: value for n, value in found.items() if value != getattr(usual, n)}


def _reopening() -> list[str]:
    return [name for name in Options.__slots__ if name not in MADE_WITH]


def usual_threads() -> int:
    """Return the number of threads where none is given: of STRATALOG_THREADS, or one."""
    given = os.environ.get("STRATALOG_THREADS", "").strip() or "1"
    try:
        return amount.thread_count(int(given[:9]) if given.isdecimal() else given)
    except EngineError as error:
        raise EngineError(
            "E120",
            f"STRATALOG_THREADS={given:.60} is not a number of threads",
            help=f"{error.help}, or unset it",
        ) from None


def _check_spark(chosen: Options) -> None:
    """Refuse a session or settings that cannot be used before anything is read."""
    given = (chosen.spark, chosen.master, chosen.conf)
    if all(each is None for each in given) and "spark" not in {chosen.engine, chosen.reader}:
        return
    from stratalog import spark
    from stratalog.spark.settings import check_settings
    from stratalog.spark.versions import check_supported

    check_supported()
    if chosen.conf is not None and not isinstance(chosen.conf, Mapping):
        raise EngineError(
            "E206", f"conf={chosen.conf!r} is no dict", help='{"spark.driver.memory": "8g"}'
        )
    check_settings(chosen.master, chosen.conf)
    if chosen.spark is None:
        return
    spark.checked(chosen.spark)
    if chosen.master is not None or chosen.conf:
        raise EngineError(
            "E206",
            "a session was given, which has its own master and settings",
            help="leave out master= and conf=",
        )


def _check_keep(value: object) -> None:
    if not _is_keep(value):
        raise EngineError(
            "E120",
            f"keep={value!r} is no number of versions",
            help=f'1 or more; "{ALL}" drops none',
        )


def _similar(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"one of {', '.join(known)}"


def available_memory() -> int | None:
    """Return the bytes of memory that this process may still take, None where nobody tells."""
    amounts = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        told = meminfo.read_text().partition("MemAvailable:")[2]
        amounts.append(int(told.split(maxsplit=1)[0]) * 1024)
    limit = Path("/sys/fs/cgroup/memory.max")
    used = Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        amounts.append(int(limit.read_text()) - int(used.read_text()))
    return max(0, min(amounts)) if amounts else None
