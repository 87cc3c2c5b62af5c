"""Labels and counts of rows: filter by them, change them."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.relation.rows import EMPTY


@kernel(work=lambda _, rows, *__: rows.size, usual=True)
def filter_rows(labels, rows, member, out):
    """Keep the rows whose label word is in the set; return how many."""
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if member[labels[row]]:
            out[n] = row
            n += np.uint64(1)
    return n


@kernel(work=lambda _, begin, end, *__: end - begin, usual=True)
def scan_labels(labels, begin, end, member, out):
    """List the rows in begin..end whose label word is in the set; return how many."""
    n = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        if member[labels[row]]:
            out[n] = np.uint32(row)
            n += np.uint64(1)
    return n


@kernel(work=lambda _, end, __: end, usual=True)
def count_members(labels, end, member):
    """Count the rows below `end` whose label word is in the set."""
    n = 0
    for row in range(np.uint64(end)):
        if member[labels[row]]:
            n += 1
    return n


@kernel(work=lambda _, rows, *__: rows.size)
def rows_with(labels, rows, bits, wanted, out):
    """List the rows that have one of the bits, or those that have none; return how many."""
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if (labels[row] & bits != 0) == wanted:
            out[n] = row
            n += np.uint64(1)
    return n


@kernel(work=lambda _, rows, *__: rows.size, usual=True)
def set_bits(labels, rows, bits):
    for i in range(rows.size):
        labels[rows[i]] |= bits


@kernel(work=lambda _, rows, *__: rows.size, usual=True)
def clear_bits(labels, rows, keep):
    for i in range(rows.size):
        labels[rows[i]] &= keep


@kernel(work=lambda _, rows, *__: rows.size)
def distinct_rows(labels, rows, bits, out):
    """List the rows that are not NULL, each once, by a mark that none of them has; return how many.

    The mark is taken off again.
    """
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if row != EMPTY and labels[row] & bits == 0:
            labels[row] |= bits
            out[n] = row
            n += np.uint64(1)
    for i in range(n):
        labels[out[i]] &= ~bits
    return n


@kernel(work=lambda _, rows, *__: rows.size)
def read_counts(counts, rows, found):
    """Write the counts of rows to `found`; return the greatest."""
    most = np.int64(0)
    for i in range(rows.size):
        count = np.int64(counts[rows[i]])
        found[i] = count
        most = max(most, count)
    return most


@kernel(work=lambda _, rows, *__: rows.size)
def add_to_counts(counts, rows, change):
    for i in range(rows.size):
        counts[rows[i]] += change


@kernel(work=lambda _, rows, *__: rows.size)
def clear_counts(counts, rows):
    for i in range(rows.size):
        counts[rows[i]] = 0
