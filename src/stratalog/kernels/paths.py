"""Bulk joins along a path, and fixpoints that run group by group.

A body such as `P(a, x), S(a, b), P(b, y)` is a path x - a - b - y from the head's first variable
to its second. For each x the kernel follows the path level by level and keeps, per constant of a
level, *how many* partial instances end there: an accumulator over constants that stays in the
cache. So a head is merged once, with its multiplicity, however many instances derive it.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.index import chain_head
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    CAPACITY,
    COLUMNS,
    COUNT_NONRECURSIVE,
    COUNT_RECURSIVE,
    INDEX_NEXT,
    LABELS,
    N_TOUCHED,
    NSLOTS,
    ROWS,
    SLOTS,
    TOUCHED,
    TOUCHED_CAPACITY,
    WIDE,
    i32,
    i64,
    u16,
    u32,
)
from stratalog.kernels.plan import DESCRIPTOR
from stratalog.kernels.rows import BLOCK, EMPTY, SEEN_BIT, hash_step, slot_of

_I32_MAX = np.int64(2**31 - 1)
_I64_MAX = np.int64(2**63 - 1)

# A level of a path. Laid out: addresses and sizes of offsets (by constant) and targets. By chains:
# the address of a relation's descriptor, where its index begins, the column of targets, the number
# of the set.
KIND, OFFSETS, N_OFFSETS, TARGETS, N_TARGETS = 0, 1, 2, 3, 4
RELATION, INDEX, COLUMN, SET = 1, 2, 3, 4
LAID_OUT, CHAINED = 0, 1


@kernel
def count_keys(keys, offsets):
    """Count the keys: offsets[key + 1] is how often `key` occurs."""
    for i in range(keys.size):
        offsets[np.uint64(keys[i]) + np.uint64(1)] += np.uint32(1)


@kernel
def fill_targets(keys, values, ends, targets):
    """Put each value in the next place of its key; ends[key] moves on."""
    for i in range(keys.size):
        key = np.uint64(keys[i])
        targets[ends[key]] = values[i]
        ends[key] += np.uint32(1)


@kernel
def _spread_laid_out(level, v, count, counts, other, reached, m):
    """Add `count` to every target of v in a laid-out relation; return the list's length, a sign."""
    sign = np.int64(0)
    if v + np.uint64(1) >= np.uint64(level[N_OFFSETS]):
        return m, sign
    offsets = u32(level[OFFSETS], level[N_OFFSETS])
    targets = u32(level[TARGETS], level[N_TARGETS])
    for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + np.uint64(1)])):
        w = np.uint64(targets[k])
        before = counts[other, w]
        if before == 0:
            reached[other, m] = np.uint32(w)
            m += 1
        counts[other, w] = before + count
        sign |= before + count
    return m, sign


@kernel
def _spread_chained(level, sets, key, v, count, counts, other, reached, m):
    """Add `count` to every target of v along its chain; return the list's length, a sign."""
    sign = np.int64(0)
    d = i64(level[RELATION], DESCRIPTOR)
    member = sets[level[SET]]
    labels = u16(d[LABELS], d[CAPACITY])
    targets = u32(d[COLUMNS + level[COLUMN]], d[CAPACITY])
    following = u32(d[level[INDEX] + INDEX_NEXT], d[CAPACITY])
    key[0] = np.uint32(v)
    row = chain_head(d, level[INDEX], key)
    while row != EMPTY:
        if member[labels[row]]:
            w = np.uint64(targets[row])
            before = counts[other, w]
            if before == 0:
                reached[other, m] = np.uint32(w)
                m += 1
            counts[other, w] = before + count
            sign |= before + count
        row = following[row]
    return m, sign


@kernel
def follow(levels, sets, starts, begin, key, counts, reached, out, multiplicity, work):
    """Write the ends of the paths from each start, with the number of paths; return the next start.

    `counts` and `reached` hold two rows each, used in turn: the accumulator of a level, all zero
    between starts, and the list of constants it is not zero for. Stops when `out` might not hold
    the ends of one more start, or after about `work` steps. Row k of the result is (out[0, k],
    out[1, k]) with multiplicity[k]; how many there are is left in multiplicity[-1], or -1 if the
    number of some paths exceeds 64 bits: a sum that wraps is negative, and its sign is kept.
    """
    sign = np.int64(0)
    n_levels = levels.shape[0]
    most = counts.shape[1]
    written = 0
    steps = 0
    s = begin
    while s < starts.size and written + most < out.shape[1] and steps < work:
        start = starts[s]
        this = 0
        counts[0, start] = 1
        reached[0, 0] = start
        n = 1
        for k in range(n_levels):
            level = levels[k]
            other = 1 - this
            m = 0
            for i in range(n):
                v = np.uint64(reached[this, i])
                count = counts[this, v]
                counts[this, v] = 0
                if level[KIND] == LAID_OUT:
                    m, s1 = _spread_laid_out(level, v, count, counts, other, reached, m)
                else:
                    m, s1 = _spread_chained(level, sets, key, v, count, counts, other, reached, m)
                sign |= s1
            steps += n + m
            this, n = other, m
        for i in range(n):
            w = np.uint64(reached[this, i])
            out[0, written] = start
            out[1, written] = np.uint32(w)
            multiplicity[written] = counts[this, w]
            counts[this, w] = 0
            written += 1
        s += 1
    multiplicity[multiplicity.size - 1] = written if sign >= 0 else -1
    return s


@kernel
def merge_counted(d, out, multiplicity, begin, end, mode, slots_of):
    """Find or insert the binary facts out[:, begin:end]; a fact's count grows by its multiplicity.

    Otherwise as `rows.merge`: returns how many were done, stops early only when a count would
    overflow.
    """
    capacity = d[CAPACITY]
    n_slots = d[NSLOTS]
    slots = u32(d[SLOTS], n_slots)
    labels = u16(d[LABELS], capacity)
    touched = u32(d[TOUCHED], d[TOUCHED_CAPACITY])
    counted = max(mode, 0)
    narrow = i32(d[COUNT_NONRECURSIVE + counted], capacity)
    wide = i64(d[COUNT_NONRECURSIVE + counted], capacity)
    is_wide = d[WIDE] != 0
    rows = np.uint64(d[ROWS])
    n_touched = np.uint64(d[N_TOUCHED])
    first = u32(d[COLUMNS], capacity)
    second = u32(d[COLUMNS + 1], capacity)
    i = begin
    stopped = False
    while i < end and not stopped:
        stop = min(i + BLOCK, end)
        for k in range(i, stop):
            h = hash_step(hash_step(np.uint64(2), out[0, k]), out[1, k])
            slots_of[k - i] = slot_of(h, n_slots)
        ahead = np.uint32(0)  # independent reads: the misses of a block overlap
        for k in range(i, stop):
            row = slots[slots_of[k - i]]
            if row != EMPTY:
                ahead += first[row] + np.uint32(labels[row])
        slots_of[BLOCK] = np.uint64(ahead)
        for k in range(i, stop):
            slot = slots_of[k - i]
            row = slots[slot]
            while row != EMPTY and (first[row] != out[0, k] or second[row] != out[1, k]):
                slot += np.uint64(1)
                if slot == np.uint64(n_slots):
                    slot = np.uint64(0)
                row = slots[slot]
            if row == EMPTY:
                row = np.uint32(rows)
                rows += np.uint64(1)
                slots[slot] = row
                first[row] = out[0, k]
                second[row] = out[1, k]
            if mode >= 0:
                if is_wide and wide[row] <= _I64_MAX - multiplicity[k]:
                    wide[row] += multiplicity[k]
                elif is_wide or np.int64(narrow[row]) > _I32_MAX - multiplicity[k]:
                    stopped = True
                    i = k
                    break
                else:
                    narrow[row] += np.int32(multiplicity[k])
            if labels[row] & SEEN_BIT == 0:
                labels[row] |= SEEN_BIT
                touched[n_touched] = row
                n_touched += np.uint64(1)
        if not stopped:
            i = stop
    d[ROWS] = np.int64(rows)
    d[N_TOUCHED] = np.int64(n_touched)
    return i


@kernel
def saturate(d, group, order, begin, offsets, targets, marks, stamp, where, count, queue, work):
    """Close groups under `T(x, z) :- T(x, y), edge(y, z)`; return the first row not done.

    order[begin:] are the rows of the relation by column `group` (0 or 1), whose constant is x; the
    edges are offsets and targets. Everything that follows from one x is found before the next
    begins: `stamp`, `where` and `count` over constants fit the cache. New facts are appended,
    without labels; C_r of all facts of the group grows by their derivations. Stops before a group
    that needs more room than there is, or whose counts might overflow, or after about `work` steps.
    """
    capacity = d[CAPACITY]
    n_slots = d[NSLOTS]
    slots = u32(d[SLOTS], n_slots)
    keys = u32(d[COLUMNS + group], capacity)
    values = u32(d[COLUMNS + 1 - group], capacity)
    narrow = i32(d[COUNT_RECURSIVE], capacity)
    wide = i64(d[COUNT_RECURSIVE], capacity)
    is_wide = d[WIDE] != 0
    rows = np.uint64(d[ROWS])
    known = np.uint64(offsets.size - 1)
    steps = 0
    i = begin
    while i < order.size and steps < work:
        x = keys[order[i]]
        marks[0] += np.uint32(1)  # a group that did not fit is begun again: with another mark
        mark = marks[0]
        n = 0
        j = i
        while j < order.size and keys[order[j]] == x:
            y = np.uint64(values[order[j]])
            stamp[y] = mark
            where[y] = order[j]
            count[y] = 0
            queue[n] = np.uint32(y)
            n += 1
            j += 1
        seeds = n
        at = 0
        depth = 0  # of what is being derived: facts of depth r come in round r
        deeper = n
        while at < n:
            if at == deeper:
                depth += 1
                deeper = n
            y = np.uint64(queue[at])
            at += 1
            if y >= known:
                continue
            first, last = offsets[y], offsets[y + np.uint64(1)]
            steps += np.int64(last) - np.int64(first)
            for k in range(np.uint64(first), np.uint64(last)):
                z = np.uint64(targets[k])
                if stamp[z] != mark:
                    stamp[z] = mark
                    count[z] = 1
                    queue[n] = np.uint32(z)
                    n += 1
                else:
                    count[z] += 1
        steps += n
        new = n - seeds
        if np.int64(rows) + new > capacity or 5 * (np.int64(rows) + new) > 3 * n_slots:
            break
        if not is_wide:
            fits = True
            for k in range(seeds):
                z = np.uint64(queue[k])
                fits = fits and np.int64(narrow[where[z]]) <= _I32_MAX - count[z]
            if not fits:
                break
        for k in range(seeds):
            z = np.uint64(queue[k])
            if is_wide:
                wide[where[z]] += count[z]
            else:
                narrow[where[z]] += np.int32(count[z])
        for k in range(seeds, n):
            z = queue[k]
            row = rows
            rows += np.uint64(1)
            keys[row] = x
            values[row] = z
            if is_wide:
                wide[row] = count[np.uint64(z)]
            else:
                narrow[row] = np.int32(count[np.uint64(z)])
            h = hash_step(hash_step(np.uint64(2), x if group == 0 else z), z if group == 0 else x)
            slot = slot_of(h, n_slots)
            while slots[slot] != EMPTY:
                slot += np.uint64(1)
                if slot == np.uint64(n_slots):
                    slot = np.uint64(0)
            slots[slot] = np.uint32(row)
        marks[1] = max(marks[1], np.uint32(depth))
        i = j
    d[ROWS] = np.int64(rows)
    return i
