"""Insert facts into a relation: find or append each, change its count, list what was touched."""

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
    OVERFLOW,
    PAGED,
    ROWS,
    SEGMENT_N_SLOTS,
    SEGMENT_ROOM,
    SEGMENT_ROWS,
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
from stratalog.kernels.relation.merge_paged import merge_chained, merge_paged
from stratalog.kernels.relation.modes import (
    AS_EXPLICIT,
    BLOCK,
    EXPLICIT_BIT,
    I32_MAX,
    I64_MAX,
    LOWER,
    SEEN_BIT,
    TAKEN,
    add_to_count,
)
from stratalog.kernels.relation.rows import (
    EMPTY,
    NEIGHBOURS,
    hash_step,
    is_crowded,
    is_same,
    segment_of,
    slot_of,
)


@kernel
def lane_of(d, number):
    return i64(d[LANES] + 8 * LANE_WIDTH * number, LANE_WIDTH)


@kernel(work=lambda _d, _number, _facts, _weights, begin, end, *_: end - begin, usual=True)
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
    if d[PAGED] != 0 and arity == 1:
        return merge_paged(d, lane_of(d, number), facts[0], weights, begin, end, mode)
    if d[PAGED] != 0:
        lane = lane_of(d, number)
        return merge_chained(d, lane, facts[0], facts[1], weights, begin, end, mode, ahead)
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
                read ^= np.uint32(labels[row]) ^ first[row]
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
                if used >= segments[at + np.uint64(SEGMENT_ROOM)] or is_crowded(
                    slot, places[k - i], used, n_slots
                ):
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
                    add_to_count(wide, row, weight, I64_MAX)
                    if is_wide
                    else add_to_count(narrow, row, weight, I32_MAX)
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
        home = slot_of(h, n_slots)
        slot = home
        row = slots[slot]
        while row != EMPTY and not is_same(d, row, facts, k):
            slot += np.uint64(1)
            if slot == n_slots:
                slot = np.uint64(0)
            row = slots[slot]
        if row == EMPTY:
            used = segments[at + np.uint64(SEGMENT_ROWS)]
            if used >= segments[at + np.uint64(SEGMENT_ROOM)] or is_crowded(
                slot, home, used, n_slots
            ):
                lane[LANE_STOP] = np.int64(at) // SEGMENT_WIDTH
                return k
            if d[ROWS] == capacity:
                lane[LANE_STOP] = NO_ROOM
                return k
            segments[at + np.uint64(SEGMENT_ROWS)] = used + 1
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
                counted = add_to_count(wide, row, weight, I64_MAX)
            else:
                counted = add_to_count(narrow, row, weight, I32_MAX)
            if not counted:
                lane[LANE_STOP] = OVERFLOW
                return k
    return end
