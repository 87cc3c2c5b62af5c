"""Versions of kernels: for which types of arguments each is compiled.

They are written down in `versions.txt`, so that kernels can be compiled before they are called.
What is not written there is compiled when it is called.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from numba import types

from stratalog.kernels.cache import Place, file_prefix
from stratalog.kernels.compiled import COMPILED

FILE = Path(__file__).with_name("versions.txt")
_LITERAL = re.compile(r"Literal\[(\w+)\]\((-?\w+)\)")
_ARRAY = re.compile(r"(readonly )?array\((\w+), (\d)d, ([CFA])\)")


def compile_versions(place: Place) -> None:
    """Compile all versions of a kernel that are written down, or load them."""
    kernel = COMPILED.kernel(place)
    for version in written_versions().get(file_prefix(place), ()):
        kernel.compile(tuple(map(_read_type, _parts(version))))


@cache
def written_versions() -> dict[str, list[str]]:
    """Return the types of arguments of each version, as text, by kernel."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        name, _, arguments = line.partition(" ")
        found.setdefault(name, []).append(arguments)
    return found


def _read_type(text: str) -> Any:  # numba's types
    if text.startswith("("):
        return types.Tuple([_read_type(part) for part in _parts(text[1:-1])])
    if found := _ARRAY.fullmatch(text):
        readonly, element, dimensions, layout = found.groups()
        kind = getattr(types, element)
        return types.Array(kind, int(dimensions), layout, readonly=bool(readonly))
    if found := _LITERAL.fullmatch(text):
        return types.literal(int(found[2]) if found[1] == "int" else found[2] == "True")
    return types.boolean if text == "bool" else getattr(types, text)


def write_type(kind: Any) -> str:
    """Return the text of a type."""
    if isinstance(kind, types.BaseTuple):
        return f"({'; '.join(map(write_type, kind))})"
    return str(kind)


def _parts(text: str) -> list[str]:
    """Return the parts between semicolons, as far as they are in no parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ";" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
