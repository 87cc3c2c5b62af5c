"""The canonical N-Triples spelling of many constants at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.lang.terms import BNODE_KIND, IRI_KIND, LANG, STRING, Term
from stratalog.lang.values.terms import spell
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.native import joined

ESCAPED_IN_TEXT = r'[\x00-\x1f\x7f"\\]'
ESCAPED_IN_IRI = r'[\x00-\x20<>"{}|^`\\]'


def spell_ids(ids: Ids, dictionary: Dictionary) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the spellings of `ids`, each distinct one computed once."""
    distinct, rows = np.unique(ids, return_inverse=True)
    return spell_distinct(distinct, dictionary).take(pa.array(rows))


def spell_distinct(ids: Ids, dictionary: Dictionary) -> Any:  # noqa: ANN401
    """Return the spellings of `ids`, kind by kind."""
    if not ids.size:
        return pa.array([], pa.large_string())
    kinds = dictionary.kind_ids[ids]
    order = np.argsort(kinds, kind="stable")
    found, starts = np.unique(kinds[order], return_index=True)
    parts = []
    for kind, places in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        parts.append(_spell_kind(dictionary.kinds[kind], dictionary.texts(ids[places])))
    back = np.empty(ids.size, np.int64)
    back[order] = np.arange(ids.size)
    return pa.concat_arrays(parts).take(pa.array(back))


def _spell_kind(kind: str, texts: Any) -> Any:  # noqa: ANN401
    before, after = _around(kind)
    spelled = joined(before, texts, after)
    if kind == BNODE_KIND:
        return spelled
    pattern = ESCAPED_IN_IRI if kind == IRI_KIND else ESCAPED_IN_TEXT
    odd = pc.match_substring_regex(texts, pattern)
    places = pc.indices_nonzero(odd)
    if not len(places):
        return spelled
    exact = [spell(Term(kind, text)) for text in texts.take(places).to_pylist()]
    return pc.replace_with_mask(spelled, odd, pa.array(exact, pa.large_string()))


def _around(kind: str) -> tuple[str, str]:
    """Return what stands before and after a text that needs no escapes."""
    if kind == IRI_KIND:
        before, after = "<", ">"
    elif kind == BNODE_KIND:
        before, after = "_:", ""
    elif kind == STRING or kind.startswith(LANG):
        before, after = '"', '"' + ("" if kind == STRING else kind)
    else:
        before, after = '"', spell(Term(kind, ""))[1:]
    return before, after
