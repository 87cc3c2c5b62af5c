"""Odd values among the arguments of public calls are refused before anything is done with them."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from stratalog.errors import EngineError

WORDS = frozenset({
    "engine", "maintenance", "modules", "schemes", "equality", "joins", "graphs", "on_bad_input",
    "reader",
})  # fmt: skip
PATHS = frozenset({"store", "publish"})


def check_value(name: str, value: object) -> None:
    """Refuse a value of an option that is not even of the option's type."""
    if name in WORDS and not isinstance(value, str):
        raise _refused(name, value, "a choice", "the choices are words in quotes")
    if name in PATHS and value is not None:
        check_path(name, value)
    if name == "header" and not isinstance(value, bool | np.bool_):
        raise _refused(name, value, "a choice", "True or False")
    is_word = isinstance(value, str) and value in {"stages", "long"}
    is_progress = value is None or isinstance(value, bool) or is_word or callable(value)
    if name == "progress" and not is_progress:
        raise _refused(name, value, "a choice", 'True, False, "stages", "long" or a function')
    if name == "master" and not (value is None or isinstance(value, str)):
        raise _refused(name, value, "a master of Spark", 'such as "local[4]"')


def check_path(name: str, value: object) -> None:
    """Refuse what is no path."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise _refused(name, value, "a path", "a str or a Path")
    if "\0" in os.fspath(value) or not _is_unicode(os.fspath(value)):
        raise _refused(name, value, "a path in UTF-8", "rename the folder")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_limit(limit: Any) -> int | None:  # noqa: ANN401  # any type of whole number
    """Return the most rows that are wanted, None for all."""
    if limit is None:
        return None
    is_number = hasattr(limit, "__index__") and not isinstance(limit, bool | np.bool_)
    if not is_number or operator.index(limit) < 0:
        raise _refused("limit", limit, "a number of rows", "0 or more, or leave it out for all")
    return operator.index(limit)


def check_version(version: object) -> None:
    """Refuse what is no number of a version."""
    if version is not None and (isinstance(version, bool) or not hasattr(version, "__index__")):
        raise _refused("version", version, "a number", "stratalog versions STORE lists them")


def check_text(name: str, value: object) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise _refused(name, value, "a text", 'write it in quotes, such as "text"')


def check_names(name: str, value: object) -> None:
    """Refuse what is no list of names, a single name among them."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _refused(name, value, "a list of names", 'such as ["path", "edge"]')


def no_copies(self: object, *_: object) -> NoReturn:
    """Refuse to copy or pickle: facts, locks and sessions belong to this process."""
    raise _CopyError(
        "E131",
        f"a {type(self).__name__} cannot be copied or pickled",
        help="save(directory) and open the store elsewhere, or try changes with what_if",
    )


class _CopyError(EngineError, TypeError):
    """What libraries that copy or pickle expect of an object that refuses."""


def _refused(name: str, value: object, wanted: str, help_line: str) -> EngineError:
    shown = repr(value)
    short = shown if len(shown) <= 60 else shown[:57] + "..."  # noqa: PLR2004  # fits on a line
    return EngineError("E120", f"{name}={short} is not {wanted}", help=help_line)
