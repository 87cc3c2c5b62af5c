"""Stratalog: Datalog materialisation, kept exact while facts come and go.

import stratalog as sl

kb = sl.materialise("path(?x, ?z) :- edge(?x, ?z) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
                    {"edge": [("a", "b"), ("b", "c")]})
kb.facts("path")
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from stratalog.errors import (
    DataError,
    EngineError,
    ProgramError,
    StoreError,
    StratalogError,
    StratalogWarning,
)
from stratalog.runtime.kernel import show_tables

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.build import materialise
    from stratalog.knowledge.changes import Changes
    from stratalog.knowledge.stored.open import open_store as open  # noqa: A004  # sl.open(directory)
    from stratalog.lang.values.terms import IRI, BNode, Literal

__version__ = "0.1.0"

logging.getLogger("stratalog").addHandler(logging.NullHandler())  # a library never prints

__all__ = [
    "IRI",
    "BNode",
    "Changes",
    "DataError",
    "EngineError",
    "KnowledgeBase",
    "Literal",
    "ProgramError",
    "StoreError",
    "StratalogError",
    "StratalogWarning",
    "materialise",
    "open",
]

_WHERE = {
    "IRI": ("stratalog.lang.values.terms", "IRI"),
    "BNode": ("stratalog.lang.values.terms", "BNode"),
    "Literal": ("stratalog.lang.values.terms", "Literal"),
    "Changes": ("stratalog.knowledge.changes", "Changes"),
    "KnowledgeBase": ("stratalog.knowledge.base", "KnowledgeBase"),
    "materialise": ("stratalog.knowledge.build", "materialise"),
    "open": ("stratalog.knowledge.stored.open", "open_store"),
}

_PLANNED = {
    "Proof": "proofs do not exist yet: kb.profile() says how often each rule has derived something",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import on first use: `import stratalog` starts neither Numba nor Arrow."""
    if name in _PLANNED:
        raise EngineError("E140", f"stratalog.{name} is not supported yet", help=_PLANNED[name])
    if name not in _WHERE:
        raise _unknown(name)
    from importlib import import_module

    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def _unknown(name: str) -> AttributeError:
    """Return the error for a misspelt name. In notebooks Python does not tell which was meant."""
    told = f"module 'stratalog' has no attribute {name!r}"
    if name.startswith("_"):  # whoever asks whether there is one
        return AttributeError(told)
    from difflib import get_close_matches

    from stratalog.tracebacks import show_briefly

    close = get_close_matches(name, __all__, 1)
    told = f"{told}. Did you mean: {close[0]!r}?" if close else told
    error = AttributeError(told, name=name)  # without obj= Python does not add the same
    show_briefly(error)
    return error


def _table_html(table: Any) -> str:  # noqa: ANN401  # an Arrow table
    from stratalog.knowledge.display.table_html import table_html

    return table_html(table)


show_tables(_table_html)  # in a notebook's kernel, and nowhere else


def __dir__() -> list[str]:
    return sorted(__all__)
