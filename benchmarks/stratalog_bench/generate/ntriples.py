"""Facts to N-Triples, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stratalog.lang.terms import RDF_TYPE
from stratalog_bench.generate.columns import IRI_TYPE, EncodedColumns, Relation

Progress = Callable[[int], None]


def write_ntriples(
    blocks: Iterable[EncodedColumns],
    sink: Any,  # noqa: ANN401  # a stream of bytes
    progress: Progress | None = None,
) -> int:
    """Write the facts of all blocks as lines to a stream of bytes and return how many.

    `progress` is told after each block how many there are so far.
    """
    count = 0
    for block in blocks:
        for part in _blocks_of_bytes(block):
            sink.write(part)
        count += block.count
        if progress is not None:
            progress(count)
    return count


def _blocks_of_bytes(block: EncodedColumns) -> Iterable[Any]:
    """Yield the bytes of each relation's lines."""
    spelled = _spelled(block)
    for name, relation in block.relations.items():
        columns = [spelled.take(_indices(ids)) for ids in relation.columns]
        if relation.types == [IRI_TYPE]:
            lines = _joined(columns[0], f" <{RDF_TYPE.text}> <{name}> .\n")
        else:
            lines = _joined(columns[0], f" <{name}> ", columns[1], " .\n")
        yield _bytes_of(lines)


def _spelled(block: EncodedColumns) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the texts as N-Triples writes them; a block's texts need no escapes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_string = np.zeros(len(block.texts), np.bool_)
    for relation in block.relations.values():
        _mark_strings(relation, is_string)
    mask = pa.array(is_string)
    before = pc.if_else(mask, _text('"'), _text("<"))
    after = pc.if_else(mask, _text('"'), _text(">"))
    return _joined(before, block.texts, after)


def _mark_strings(relation: Relation, is_string: Any) -> None:  # noqa: ANN401
    for ids, kind in zip(relation.columns, relation.types, strict=True):
        if kind != IRI_TYPE:
            is_string[ids] = True


def _indices(ids: Any) -> Any:  # noqa: ANN401
    import pyarrow as pa

    return pa.array(ids)


def _text(text: str) -> Any:  # noqa: ANN401
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


def _joined(*parts: Any) -> Any:  # noqa: ANN401
    import pyarrow.compute as pc

    wide = [_text(each) if isinstance(each, str) else each for each in parts]
    return pc.binary_join_element_wise(*wide, _text(""))


def _bytes_of(lines: Any) -> Any:  # noqa: ANN401
    """Return the bytes of all texts, one after the other."""
    if not len(lines):
        return b""
    _, offsets, data = lines.buffers()
    bounds = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
