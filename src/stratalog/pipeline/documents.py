"""JSON that a stranger may have written: parsed within bounds, its fields taken by type.

What is odd is an OddDocumentError whose text says what; whoever knows the file's name makes it an
error for users.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

MOST = 2**63 - 1  # numbers are stored in columns of 64 bits

Fields = dict[str, Any]


class OddDocumentError(Exception):
    """A document is not what was written; the text says in which way."""


def parse_json(content: bytes) -> Any:  # noqa: ANN401  # any JSON
    """Return what a document says; an error if it is no JSON, too deep, or no Unicode."""
    try:
        parsed = json.loads(content, parse_constant=_no_number)
        if b"\\u" in content:  # half of a pair of surrogates would be an error wherever it is shown
            json.dumps(parsed, ensure_ascii=False).encode()
    except RecursionError:
        raise OddDocumentError("it is too deep") from None
    except ValueError:
        raise OddDocumentError("it is no JSON") from None
    return parsed


def _no_number(name: str) -> NoReturn:
    raise OddDocumentError(f"{name} is no number")


def record(value: object, what: str) -> Fields:
    """Return an object of JSON."""
    if not isinstance(value, dict):
        raise OddDocumentError(f"{what} is no object")
    return value


def entries(value: object, what: str) -> list[Any]:
    """Return a list of JSON."""
    if not isinstance(value, list):
        raise OddDocumentError(f"{what} is no list")
    return value


def text(value: object, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise OddDocumentError(f"{what} is no text")
    return value


def whole(value: object, what: str, least: int = 0, most: int = MOST) -> int:
    """Return an integer in a range."""
    if type(value) is not int or not least <= value <= most:
        raise OddDocumentError(f"{what} is no number from {least} to {most}")
    return value


def field(fields: Fields, name: str) -> Any:  # noqa: ANN401
    """Return what an object must have under a name."""
    if name not in fields:
        raise OddDocumentError(f"{name} is missing")
    return fields[name]
