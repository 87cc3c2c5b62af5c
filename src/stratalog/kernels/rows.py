"""Rows of a relation: find, insert with counts, label, filter, rehash."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    COUNT_NONRECURSIVE,
    LABELS,
    LANE_BEFORE,
    LANE_END,
    LANE_N_TOUCHED,
    LANE_NEXT,
    LANE_SHARED,
    LANE_STOP,
    LANE_TOUCHED,
    LANE_TOUCHED_CAPACITY,
    LANE_WIDTH,
    LANES,
    N_SEGMENTS,
    NO_ROOM,
    NULL,
    OVERFLOW,
    ROWS,
    SEGMENT_N_SLOTS,
    SEGMENT_ROOM,
    SEGMENT_ROWS,
    SEGMENT_SLOTS,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    WIDE,
    i32,
    i64,
    take_rows,
    u16,
    u32,
)
from stratalog.kernels.sizes import sized

EMPTY = np.uint32(NULL)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_I32_MAX = np.int64(2**31 - 1)
_I64_MAX = np.int64(2**63 - 1)

EXPLICIT_BIT = np.uint16(1 << 0)
SEEN_BIT = np.uint16(1 << 6)

NEIGHBOURS = np.uint64(sized(6, 1))  # bits: so many constants in a row share a segment
TAKEN = sized(1024, 3)  # rows that a lane takes at once where it shares a relation
BLOCK = sized(256, 2)  # candidates whose slots are fetched together, so that cache misses overlap

# What `merge` does with each candidate besides storing it: 0 and 1 raise a count, 2 and 3 lower it.
LOWER = 2
UNCOUNTED = -1
AS_EXPLICIT = -2


@kernel
def hash_step(h, value):
    h = (h ^ np.uint64(value)) * _MULTIPLIER
    return h ^ (h >> _SHIFT)


@kernel
def slot_of(h, n_slots):
    """Return a slot for a hash: multiply-shift on the upper half, for any table size."""
    return ((h >> _SHIFT) * np.uint64(n_slots)) >> _SHIFT


@kernel
def segment_of(d, h, leading):
    """Return where the segment of a fact begins, from its hash or its constant in one column.

    Constants that were numbered together come to the same segment: they tend to be read, derived
    and looked up together.
    """
    if d[SEGMENTED_BY] >= 0:
        h = np.uint64(leading) >> NEIGHBOURS
    return (h & np.uint64(d[N_SEGMENTS] - 1)) * np.uint64(SEGMENT_WIDTH)


@kernel
def _is_same(d, row, facts, k):
    """Return whether a row holds the fact facts[:, k]."""
    for c in range(d[ARITY]):  # noqa: SIM110  # numba has no `all`
        if u32(d[COLUMNS + c], d[CAPACITY])[row] != facts[c, k]:
            return False
    return True


@kernel
def find(d, facts, k):
    """Return the row of the fact facts[:, k], or NULL."""
    arity = d[ARITY]
    h = np.uint64(arity)
    for c in range(arity):
        h = hash_step(h, facts[c, k])
    leading = facts[max(d[SEGMENTED_BY], 0), k] if arity > 0 else np.uint32(0)
    at = segment_of(d, h, leading)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
    slots = u32(segments[at + np.uint64(SEGMENT_SLOTS)], n_slots)
    slot = slot_of(h, n_slots)
    while True:
        row = slots[slot]
        if row == EMPTY or _is_same(d, row, facts, k):
            return row
        slot += np.uint64(1)
        if slot == n_slots:
            slot = np.uint64(0)


@kernel
def _count(counts, row, weight, most):
    """Change a count, unless it would exceed what it can hold; return whether it was changed."""
    before = np.int64(counts[row])
    if weight > 0 and before > most - weight:
        return False
    counts[row] = before + weight
    return True


@kernel
def lane_of(d, number):
    return i64(d[LANES] + 8 * LANE_WIDTH * number, LANE_WIDTH)


@kernel
def merge(d, number, facts, weights, begin, end, mode, ahead):
    """Find or insert facts[:, begin:end] in lane `number`; return how many were done.

    `mode` is the count that each fact raises (0 or 1) or lowers (with LOWER), UNCOUNTED, or
    AS_EXPLICIT; it changes by the fact's weight, or by one where there are no weights. Rows
    touched for the first time are marked SEEN and listed, with that count if the lane asks for it;
    explicit ones are not.
    Stops early where something has no room: the lane's LANE_STOP says what.

    Threads may merge at once, each in its lane, facts of different segments.
    """
    arity = d[ARITY]
    if arity == 1 or arity == 2:
        return _merge_narrow(
            d, lane_of(d, number), facts[0], facts[arity - 1], weights, begin, end, mode, ahead
        )
    return _merge_any(d, lane_of(d, number), facts, weights, begin, end, mode)


@kernel
def _merge_narrow(d, lane, firsts, seconds, weights, begin, end, mode, ahead):
    """Do the work of `merge` for one or two columns, most of all facts."""
    is_pair = d[ARITY] == 2
    capacity = d[CAPACITY]
    by = d[SEGMENTED_BY]
    mask = np.uint64(d[N_SEGMENTS] - 1)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    labels = u16(d[LABELS], capacity)
    touched = u32(lane[LANE_TOUCHED], lane[LANE_TOUCHED_CAPACITY])
    n_touched = np.uint64(lane[LANE_N_TOUCHED])
    most_touched = np.uint64(lane[LANE_TOUCHED_CAPACITY])
    narrow = i32(d[COUNT_NONRECURSIVE + (max(mode, 0) & 1)], capacity)
    wide = i64(d[COUNT_NONRECURSIVE + (max(mode, 0) & 1)], capacity)
    one = np.int64(-1 if mode >= LOWER else 1)
    before = i64(lane[LANE_BEFORE], lane[LANE_TOUCHED_CAPACITY])
    remembers = lane[LANE_BEFORE] != 0
    is_wide = d[WIDE] != 0
    lists = mode != AS_EXPLICIT
    is_shared = lane[LANE_SHARED] != 0
    row_end = np.uint64(lane[LANE_END] if is_shared else capacity)
    rows = np.uint64(lane[LANE_NEXT] if is_shared else d[ROWS])
    first = u32(d[COLUMNS], capacity)
    second = u32(d[COLUMNS + 1], capacity) if is_pair else first
    weighted = weights.size > 0
    seed = np.uint64(d[ARITY])
    places, pieces = ahead[0], ahead[1]
    i = np.uint64(begin)
    last = np.uint64(end)
    stopped = False
    while i < last and not stopped:
        stop = min(i + np.uint64(BLOCK), last)
        if lists and n_touched + (stop - i) > most_touched:
            lane[LANE_STOP] = NO_ROOM
            break
        for k in range(i, stop):
            x, z = firsts[k], seconds[k]
            h = hash_step(seed, x)
            if is_pair:
                h = hash_step(h, z)
            part = h
            if by >= 0:
                part = np.uint64(z if by == 1 else x) >> NEIGHBOURS
            at = (part & mask) * np.uint64(SEGMENT_WIDTH)
            slot = slot_of(h, segments[at + np.uint64(SEGMENT_N_SLOTS)])
            pieces[k - i] = at
            places[k - i] = slot
        read = np.uint32(0)  # independent reads: the misses of a block overlap
        for k in range(i, stop):
            at = pieces[k - i]
            slots = u32(segments[at], segments[at + np.uint64(SEGMENT_N_SLOTS)])
            row = slots[places[k - i]]
            if row != EMPTY:
                read += np.uint32(labels[row]) + first[row]
        places[BLOCK] = np.uint64(read)
        for k in range(i, stop):
            x, z = firsts[k], seconds[k]
            at = pieces[k - i]
            slot = places[k - i]
            n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
            slots = u32(segments[at], n_slots)
            row = slots[slot]
            while row != EMPTY and (first[row] != x or second[row] != z):
                slot += np.uint64(1)
                if slot == n_slots:
                    slot = np.uint64(0)
                row = slots[slot]
            if row == EMPTY:
                used = segments[at + np.uint64(SEGMENT_ROWS)]
                if used >= segments[at + np.uint64(SEGMENT_ROOM)]:
                    lane[LANE_STOP] = np.int64(at) // SEGMENT_WIDTH
                    stopped = True
                    i = k
                    break
                if rows == row_end:
                    taken = take_rows(d, TAKEN) if is_shared else np.int64(-1)
                    if taken < 0:
                        lane[LANE_STOP] = NO_ROOM
                        stopped = True
                        i = k
                        break
                    rows = np.uint64(taken)
                    row_end = rows + np.uint64(TAKEN)
                segments[at + np.uint64(SEGMENT_ROWS)] = used + 1
                row = np.uint32(rows)
                rows += np.uint64(1)
                first[row] = x
                if is_pair:
                    second[row] = z
                slots[slot] = row
            label = labels[row]
            if lists and label & SEEN_BIT == 0:
                label |= SEEN_BIT
                labels[row] = label
                touched[n_touched] = row
                if remembers:
                    before[n_touched] = wide[row] if is_wide else np.int64(narrow[row])
                n_touched += np.uint64(1)
            if mode >= 0:
                weight = one * weights[k] if weighted else one
                counted = (
                    _count(wide, row, weight, _I64_MAX)
                    if is_wide
                    else _count(narrow, row, weight, _I32_MAX)
                )
                if not counted:
                    lane[LANE_STOP] = OVERFLOW
                    stopped = True
                    i = k
                    break
            elif mode == AS_EXPLICIT and label & EXPLICIT_BIT == 0:
                if is_wide:
                    wide[row] += 1
                else:
                    narrow[row] += np.int32(1)
                labels[row] = label | EXPLICIT_BIT
        if not stopped:
            i = stop
    if is_shared:
        lane[LANE_NEXT] = np.int64(rows)
        lane[LANE_END] = np.int64(row_end)
    else:
        d[ROWS] = np.int64(rows)
    lane[LANE_N_TOUCHED] = np.int64(n_touched)
    return np.int64(i)


@kernel
def _merge_any(d, lane, facts, weights, begin, end, mode):
    """Do the work of `merge` for any number of columns."""
    arity = d[ARITY]
    capacity = d[CAPACITY]
    leading = max(d[SEGMENTED_BY], 0)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    labels = u16(d[LABELS], capacity)
    touched = u32(lane[LANE_TOUCHED], lane[LANE_TOUCHED_CAPACITY])
    narrow = i32(d[COUNT_NONRECURSIVE + (max(mode, 0) & 1)], capacity)
    wide = i64(d[COUNT_NONRECURSIVE + (max(mode, 0) & 1)], capacity)
    one = np.int64(-1 if mode >= LOWER else 1)
    before = i64(lane[LANE_BEFORE], lane[LANE_TOUCHED_CAPACITY])
    remembers = lane[LANE_BEFORE] != 0
    is_wide = d[WIDE] != 0
    for k in range(begin, end):
        if mode != AS_EXPLICIT and lane[LANE_N_TOUCHED] == lane[LANE_TOUCHED_CAPACITY]:
            lane[LANE_STOP] = NO_ROOM
            return k
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, facts[c, k])
        at = segment_of(d, h, facts[leading, k] if arity > 0 else np.uint32(0))
        n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
        slots = u32(segments[at], n_slots)
        slot = slot_of(h, n_slots)
        row = slots[slot]
        while row != EMPTY and not _is_same(d, row, facts, k):
            slot += np.uint64(1)
            if slot == n_slots:
                slot = np.uint64(0)
            row = slots[slot]
        if row == EMPTY:
            if segments[at + np.uint64(SEGMENT_ROWS)] >= segments[at + np.uint64(SEGMENT_ROOM)]:
                lane[LANE_STOP] = np.int64(at) // SEGMENT_WIDTH
                return k
            if d[ROWS] == capacity:
                lane[LANE_STOP] = NO_ROOM
                return k
            segments[at + np.uint64(SEGMENT_ROWS)] += 1
            row = np.uint32(d[ROWS])
            d[ROWS] += 1
            for c in range(arity):
                u32(d[COLUMNS + c], capacity)[row] = facts[c, k]
            slots[slot] = row
        if mode != AS_EXPLICIT and labels[row] & SEEN_BIT == 0:
            labels[row] |= SEEN_BIT
            listed = np.uint64(lane[LANE_N_TOUCHED])
            touched[listed] = row
            if remembers:
                before[listed] = wide[row] if is_wide else np.int64(narrow[row])
            lane[LANE_N_TOUCHED] += 1
        if mode == AS_EXPLICIT:
            if labels[row] & EXPLICIT_BIT == 0:
                labels[row] |= EXPLICIT_BIT
                if is_wide:
                    wide[row] += 1
                else:
                    narrow[row] += np.int32(1)
        elif mode >= 0:
            weight = one * weights[k] if weights.size > 0 else one
            if is_wide:
                counted = _count(wide, row, weight, _I64_MAX)
            else:
                counted = _count(narrow, row, weight, _I32_MAX)
            if not counted:
                lane[LANE_STOP] = OVERFLOW
                return k
    return end


@kernel
def close_gaps(d, begins, ends, moved):
    """Move the last rows into gaps that lanes have left; moved[i] is where row `rows + i` is now.

    The gaps are taken rows that nobody has filled; `rows` is what is left without them.
    """
    arity, capacity = d[ARITY], d[CAPACITY]
    rows = d[ROWS] - moved.size
    labels = u16(d[LABELS], capacity)
    moved[:] = 0
    for g in range(begins.size):
        for p in range(max(begins[g], rows), ends[g]):
            moved[p - rows] = EMPTY
    source = np.int64(0)
    for g in range(begins.size):
        for p in range(begins[g], min(ends[g], rows)):
            while moved[source] == EMPTY:
                source += 1
            row = rows + source
            _renumber_slot(d, row, p)
            for c in range(arity):
                column = u32(d[COLUMNS + c], capacity)
                column[p] = column[row]
            labels[p] = labels[row]
            for count in (COUNT_NONRECURSIVE, COUNT_NONRECURSIVE + 1):
                if d[WIDE] != 0:
                    i64(d[count], capacity)[p] = i64(d[count], capacity)[row]
                else:
                    i32(d[count], capacity)[p] = i32(d[count], capacity)[row]
            moved[source] = np.uint32(p)
            source += 1
    for row in range(rows, d[ROWS]):
        labels[row] = 0
        for count in (COUNT_NONRECURSIVE, COUNT_NONRECURSIVE + 1):
            if d[WIDE] != 0:
                i64(d[count], capacity)[row] = 0
            else:
                i32(d[count], capacity)[row] = 0
    d[ROWS] = rows


@kernel
def _renumber_slot(d, row, other):
    """Let the slot of a row hold another row, which is about to have its fact."""
    capacity = d[CAPACITY]
    h = np.uint64(d[ARITY])
    for c in range(d[ARITY]):
        h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)[row]
    at = segment_of(d, h, leading)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
    slots = u32(segments[at], n_slots)
    slot = slot_of(h, n_slots)
    while slots[slot] != np.uint32(row):
        slot += np.uint64(1)
        if slot == n_slots:
            slot = np.uint64(0)
    slots[slot] = np.uint32(other)


@kernel
def renumber(listed, rows, moved):
    """Write the new numbers of rows that `close_gaps` has moved into a list."""
    for i in range(listed.size):
        if np.int64(listed[i]) >= rows:
            listed[i] = moved[np.int64(listed[i]) - rows]


@kernel
def count_changes(leading, step):
    """Count how often, among every step-th row, the next row belongs to another segment."""
    n = 0
    for i in range(np.uint64(0), np.uint64(leading.size - 1), np.uint64(step)):
        n += (leading[i] >> NEIGHBOURS) != (leading[i + np.uint64(1)] >> NEIGHBOURS)
    return n


@kernel
def cluster(leading, facts, ends, out):
    """Write facts by the segment of their leading constant; ends[s] is where segment s goes on."""
    mask = np.uint64(ends.size - 1)
    for i in range(np.uint64(leading.size)):
        s = (np.uint64(leading[i]) >> NEIGHBOURS) & mask
        at = ends[s]
        ends[s] = at + np.uint64(1)
        for c in range(facts.shape[0]):
            out[c, at] = facts[c, i]


@kernel
def enter_rows(d, listed, begin, end):
    """Enter rows into segments that have room for them and do not know them.

    The rows are listed[begin:end], without its empty places, or begin..end where nothing is listed.
    """
    arity = d[ARITY]
    capacity = d[CAPACITY]
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)
    for i in range(np.uint64(begin), np.uint64(end)):
        row = listed[i] if listed.size else np.uint32(i)
        if row == EMPTY:
            continue
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
        at = segment_of(d, h, leading[row] if arity > 0 else np.uint32(0))
        n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
        slots = u32(segments[at], n_slots)
        slot = slot_of(h, n_slots)
        while slots[slot] != EMPTY:
            slot += np.uint64(1)
            if slot == n_slots:
                slot = np.uint64(0)
        slots[slot] = row
        segments[at + np.uint64(SEGMENT_ROWS)] += 1


@kernel
def count_segments(d, counts):
    """Count how many rows belong to each segment."""
    arity = d[ARITY]
    capacity = d[CAPACITY]
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)
    for row in range(np.uint64(d[ROWS])):
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
        at = segment_of(d, h, leading[row] if arity > 0 else np.uint32(0))
        counts[at // np.uint64(SEGMENT_WIDTH)] += 1


@kernel
def find_all(d, columns, size, rows):
    """Write the row of each fact columns[:, i] to rows[i], NULL where it is not stored."""
    for i in range(size):
        rows[i] = find(d, columns, i)


@kernel
def filter_rows(labels, rows, member, out):
    """Keep the rows whose label word is in the set; return how many."""
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if member[labels[row]]:
            out[n] = row
            n += np.uint64(1)
    return n


@kernel
def scan_labels(labels, begin, end, member, out):
    """List the rows in begin..end whose label word is in the set; return how many."""
    n = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        if member[labels[row]]:
            out[n] = np.uint32(row)
            n += np.uint64(1)
    return n


@kernel
def count_members(labels, end, member):
    """Count the rows below `end` whose label word is in the set."""
    n = 0
    for row in range(np.uint64(end)):
        if member[labels[row]]:
            n += 1
    return n


@kernel
def rows_with(labels, rows, bits, wanted, out):
    """List the rows that have one of the bits, or those that have none; return how many."""
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if (labels[row] & bits != 0) == wanted:
            out[n] = row
            n += np.uint64(1)
    return n


@kernel
def set_bits(labels, rows, bits):
    for i in range(rows.size):
        labels[rows[i]] |= bits


@kernel
def clear_bits(labels, rows, keep):
    for i in range(rows.size):
        labels[rows[i]] &= keep
