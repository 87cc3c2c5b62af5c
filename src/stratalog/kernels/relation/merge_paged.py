"""Insert facts into a relation whose segments have pages; see `merge.py`."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    CAPACITY,
    CHAIN,
    COLUMNS,
    COUNT_NONRECURSIVE,
    LABELS,
    LANE_BEFORE,
    LANE_N_TOUCHED,
    LANE_STOP,
    LANE_TOUCHED,
    LANE_TOUCHED_CAPACITY,
    LONG_CHAIN,
    N_SEGMENTS,
    NO_ROOM,
    OVERFLOW,
    PAGED,
    ROWS,
    SEGMENT_ROOM,
    SEGMENT_ROWS,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    WIDE,
    i32,
    i64,
    u16,
    u32,
)
from stratalog.kernels.relation.membership_chained import (
    LONGEST,
    hashed_slot,
    hashed_slots,
    is_hashed,
    newest_row,
)
from stratalog.kernels.relation.modes import (
    AS_EXPLICIT,
    BLOCK,
    EXPLICIT_BIT,
    I32_MAX,
    I64_MAX,
    LOWER,
    SEEN_BIT,
    add_to_count,
)
from stratalog.kernels.relation.rows import EMPTY, NEIGHBOURS, new_page_slot, page_slot, page_slots


@kernel
def merge_paged(d, lane, constants, weights, begin, end, mode):
    """Do the work of `merge` for a relation with one column whose segments are paged."""
    capacity = d[CAPACITY]
    shift = d[PAGED]
    mask = np.uint64(d[N_SEGMENTS] - 1)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    labels = u16(d[LABELS], capacity)
    column = u32(d[COLUMNS], capacity)
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
    rows = np.uint64(d[ROWS])
    weighted = weights.size > 0
    done = np.uint64(end)
    for k in range(np.uint64(begin), np.uint64(end)):
        constant = constants[k]
        at = ((np.uint64(constant) >> NEIGHBOURS) & mask) * np.uint64(SEGMENT_WIDTH)
        slot = page_slot(segments, at, constant, shift)
        if slot < 0:
            slot = new_page_slot(segments, at, constant, shift)
        if slot < 0:
            lane[LANE_STOP] = np.int64(at) // SEGMENT_WIDTH
            done = k
            break
        slots = page_slots(segments, at)
        row = ~slots[slot]
        if (lists and n_touched == most_touched) or (row == EMPTY and rows == np.uint64(capacity)):
            lane[LANE_STOP] = NO_ROOM
            done = k
            break
        if row == EMPTY:
            row = np.uint32(rows)
            rows += np.uint64(1)
            column[row] = constant
            slots[slot] = ~row
        label = labels[row]
        if lists and label & SEEN_BIT == 0:
            labels[row] = label | SEEN_BIT
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
                done = k
                break
        elif mode == AS_EXPLICIT and label & EXPLICIT_BIT == 0:
            if is_wide:
                wide[row] += 1
            else:
                narrow[row] += np.int32(1)
            labels[row] = label | EXPLICIT_BIT
    d[ROWS] = np.int64(rows)
    lane[LANE_N_TOUCHED] = np.int64(n_touched)
    return np.int64(done)


@kernel
def merge_chained(d, lane, firsts, seconds, weights, begin, end, mode, ahead):
    """Do the work of `merge` for a relation with two columns whose segments are paged."""
    by_second = d[SEGMENTED_BY] == 1
    keys, others = (seconds, firsts) if by_second else (firsts, seconds)
    capacity = d[CAPACITY]
    shift = d[PAGED]
    mask = np.uint64(d[N_SEGMENTS] - 1)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    labels = u16(d[LABELS], capacity)
    first, second = u32(d[COLUMNS], capacity), u32(d[COLUMNS + 1], capacity)
    stored = first if by_second else second
    chain = u32(d[CHAIN], capacity)
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
    rows = np.uint64(d[ROWS])
    weighted = weights.size > 0
    heads = ahead[0]
    i = np.uint64(begin)
    last = np.uint64(end)
    stopped = False
    while i < last and not stopped:
        stop = min(i + np.uint64(BLOCK), last)
        read = np.uint32(0)  # independent reads: the misses of a block overlap
        for k in range(i, stop):
            at = ((np.uint64(keys[k]) >> NEIGHBOURS) & mask) * np.uint64(SEGMENT_WIDTH)
            heads[k - i] = np.uint64(newest_row(segments, at, keys[k], shift))
        for k in range(i, stop):
            row = np.uint32(heads[k - i])
            if row != EMPTY:
                read ^= np.uint32(labels[row]) ^ stored[row]
        heads[BLOCK] = np.uint64(read)
        for k in range(i, stop):
            key, other = keys[k], others[k]
            at = ((np.uint64(key) >> NEIGHBOURS) & mask) * np.uint64(SEGMENT_WIDTH)
            is_full = rows == np.uint64(capacity)
            if lists and n_touched == most_touched:
                lane[LANE_STOP] = NO_ROOM
                stopped = True
            elif is_hashed(segments, at):
                slot, row = hashed_slot(d, segments, at, firsts[k], seconds[k])
                if row == EMPTY:
                    used = segments[at + np.uint64(SEGMENT_ROWS)]
                    if is_full or used >= segments[at + np.uint64(SEGMENT_ROOM)]:
                        lane[LANE_STOP] = NO_ROOM if is_full else np.int64(at) // SEGMENT_WIDTH
                        stopped = True
                    else:
                        segments[at + np.uint64(SEGMENT_ROWS)] = used + 1
                        row = np.uint32(rows)
                        hashed_slots(segments, at)[slot] = row
            else:
                slot = page_slot(segments, at, key, shift)
                if slot < 0:
                    slot = new_page_slot(segments, at, key, shift)
                if slot < 0:
                    lane[LANE_STOP] = np.int64(at) // SEGMENT_WIDTH
                    stopped = True
                else:
                    slots = page_slots(segments, at)
                    head = ~slots[slot]
                    row = head
                    steps = 0
                    while row != EMPTY and stored[row] != other:
                        row = ~chain[row]
                        steps += 1
                    if row == EMPTY and (is_full or steps >= LONGEST):
                        long = LONG_CHAIN - np.int64(at) // SEGMENT_WIDTH
                        lane[LANE_STOP] = NO_ROOM if is_full else long
                        stopped = True
                    elif row == EMPTY:
                        row = np.uint32(rows)
                        chain[row] = ~head
                        slots[slot] = ~row
            if stopped:
                i = k
                break
            if row == np.uint32(rows):
                rows += np.uint64(1)
                first[row] = firsts[k]
                second[row] = seconds[k]
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
    d[ROWS] = np.int64(rows)
    lane[LANE_N_TOUCHED] = np.int64(n_touched)
    return np.int64(i)
