"""Numbering terms by their first appearance."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel

NOWHERE = np.uint32(0xFFFFFFFF)


@kernel(usual=True)
def number_by_appearance(cells, known, numbers, order):
    """Renumber the cells from `known` on by first appearance, in place; return how many there are.

    `numbers` holds NOWHERE for each term from `known` on and receives its new number; `order`
    receives their old places by new number. Cells beyond these terms stay.
    """
    used = np.uint64(0)
    first = np.uint64(known)
    count = np.uint64(numbers.size)
    for at in range(np.uint64(cells.size)):
        cell = np.uint64(cells[at])
        if cell < first or cell - first >= count:
            continue
        term = cell - first
        if numbers[term] == NOWHERE:
            numbers[term] = np.uint32(first + used)
            order[used] = np.int64(term)
            used += np.uint64(1)
        cells[at] = numbers[term]
    return used
