"""Bulk joins along a path, and fixpoints that run group by group.

A body such as `P(a, x), S(a, b), P(b, y)` is a path x - a - b - y from the head's first variable
to its second. For each x the kernel follows the path level by level and keeps, per constant of a
level, *how many* partial instances end there: an accumulator over constants that stays in the
cache. So a head is merged once, with its multiplicity, however many instances derive it.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    CAPACITY,
    COLUMNS,
    COUNT_RECURSIVE,
    INDEX_NEXT,
    LABELS,
    LANE_STOP,
    N_SEGMENTS,
    NO_ROOM,
    OVERFLOW,
    SEGMENT_N_SLOTS,
    SEGMENT_ROOM,
    SEGMENT_ROWS,
    SEGMENT_WIDTH,
    SEGMENTS,
    WIDE,
    i32,
    i64,
    take_rows,
    u16,
    u32,
)
from stratalog.kernels.plan.interpreter import DESCRIPTOR, DONE, PAUSED, STUCK
from stratalog.kernels.relation.index import chain_head
from stratalog.kernels.relation.merge import lane_of, merge
from stratalog.kernels.relation.rows import EMPTY, hash_step, segment_of, slot_of
from stratalog.kernels.sizes import sized
from stratalog.kernels.wrapping import total

_I32_MAX = np.int64(2**31 - 1)
_LOWER = np.int64(2**32 - 1)

# A level of a path. Laid out: addresses and sizes of offsets (by constant) and targets. By chains:
# the address of a relation's descriptor, where its index begins, the column of targets, the number
# of the set.
KIND, OFFSETS, N_OFFSETS, TARGETS, N_TARGETS = 0, 1, 2, 3, 4
RELATION, INDEX, COLUMN, SET = 1, 2, 3, 4
LAID_OUT, CHAINED = 0, 1

# How far the paths of a lane have been followed.
NEXT_START, WRITTEN, MERGED, DERIVED, DERIVED_UPPER, PROGRESS = range(6)  # DERIVED in two halves
MERGED_HEADS = sized(4096, 2)  # heads merged together: small enough for the cache
TOO_MANY = 100  # besides what `evaluate_all` returns


@kernel
def count_keys(keys, rows, offsets):
    """Count the keys of the rows: offsets[key + 2] is how often `key` occurs."""
    for i in range(rows.size):
        offsets[np.uint64(keys[rows[i]]) + np.uint64(2)] += np.uint32(1)


@kernel
def greatest_key(keys, rows):
    """Return the greatest key of the rows, or -1."""
    most = np.int64(-1)
    for i in range(rows.size):
        most = max(most, np.int64(keys[rows[i]]))
    return most


@kernel
def fill_targets(keys, values, rows, offsets, targets):
    """Put each row's value in the next place of its key.

    offsets[key + 1] says where that is and moves on, to where the next key begins.
    """
    for i in range(rows.size):
        row = rows[i]
        key = np.uint64(keys[row]) + np.uint64(1)
        targets[offsets[key]] = values[row]
        offsets[key] += np.uint32(1)


@kernel
def _spread_laid_out(level, listed, n, here, there, found):
    """Move the counts of a level on to the targets in a laid-out relation.

    Returns how many targets were found, and the signs of all sums.
    """
    sign = np.int64(0)
    known = np.uint64(level[N_OFFSETS])
    offsets = u32(level[OFFSETS], level[N_OFFSETS])
    targets = u32(level[TARGETS], level[N_TARGETS])
    m = np.uint64(0)
    for i in range(n):
        v = np.uint64(listed[i])
        count = here[v]
        here[v] = 0
        if v + np.uint64(1) >= known:
            continue
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + np.uint64(1)])):
            w = np.uint64(targets[k])
            before = there[w]
            there[w] = total(before, count)
            sign |= there[w]
            found[m] = np.uint32(w)  # overwritten if w is there: cheaper than a branch
            m += np.uint64(before == 0)
    return m, sign


@kernel
def _spread_chained(level, sets, key, listed, n, here, there, found):
    """Move the counts of a level on to the targets along the chains of an index, likewise."""
    sign = np.int64(0)
    d = i64(level[RELATION], DESCRIPTOR)
    member = sets[level[SET]]
    labels = u16(d[LABELS], d[CAPACITY])
    targets = u32(d[COLUMNS + level[COLUMN]], d[CAPACITY])
    following = u32(d[level[INDEX] + INDEX_NEXT], d[CAPACITY])
    m = np.uint64(0)
    for i in range(n):
        v = np.uint64(listed[i])
        count = here[v]
        here[v] = 0
        key[0] = np.uint32(v)
        row = chain_head(d, level[INDEX], key)
        while row != EMPTY:
            if member[labels[row]]:
                w = np.uint64(targets[row])
                before = there[w]
                there[w] = total(before, count)
                sign |= there[w]
                found[m] = np.uint32(w)
                m += np.uint64(before == 0)
            row = following[row]
    return m, sign


@kernel
def _follow(levels, sets, starts, progress, key, counts, reached, out, weights):
    """Write the ends of the paths from the next starts, with the number of paths, into `out`.

    `counts` and `reached` hold two rows each, used in turn: the accumulator of a level, all zero
    between starts, and the list of constants it is not zero for. Stops when there is enough for a
    merge. Row k is (out[0, k], out[1, k]) with weights[k]. Returns the steps taken and whether all
    numbers fit: a sum that wraps is negative, and its sign is kept.
    """
    sign = lower = upper = np.int64(0)
    firsts, seconds = out[0], out[1]
    written = np.uint64(0)
    steps = 0
    s = progress[NEXT_START]
    while s < starts.size and written < np.uint64(MERGED_HEADS):
        start = starts[s]
        this = 0
        counts[0, start] = 1
        reached[0, 0] = start
        n = np.uint64(1)
        for k in range(levels.shape[0]):
            level = levels[k]
            here, there = counts[this], counts[1 - this]
            listed, found = reached[this], reached[1 - this]
            if level[KIND] == LAID_OUT:
                m, signs = _spread_laid_out(level, listed, n, here, there, found)
            else:
                m, signs = _spread_chained(level, sets, key, listed, n, here, there, found)
            sign |= signs
            steps += np.int64(n + m)
            this, n = 1 - this, m
        here, listed = counts[this], reached[this]
        for i in range(n):
            w = np.uint64(listed[i])
            count = here[w]
            here[w] = 0
            firsts[written] = start
            seconds[written] = np.uint32(w)
            weights[written] = count
            lower += count & _LOWER
            upper += count >> np.int64(32)
            written += np.uint64(1)
        s += 1
    progress[NEXT_START] = s
    progress[WRITTEN] = np.int64(written)
    progress[MERGED] = 0
    progress[DERIVED] += lower
    progress[DERIVED_UPPER] += upper
    return steps, sign >= 0


@kernel(resumes=True)
def follow(d, number, mode, levels, sets, starts, progress, buffers, ahead, stop, work):
    """Derive the ends of the paths from all starts, with multiplicities, in lane `number`.

    Returns DONE, PAUSED after about `work` steps or when asked to stop, STUCK where a merge is, or
    TOO_MANY if the number of some paths exceeds 64 bits.
    """
    key, counts, reached, out, weights = buffers
    steps = 0
    while True:
        if progress[MERGED] < progress[WRITTEN]:
            progress[MERGED] = merge(
                d, number, out, weights, progress[MERGED], progress[WRITTEN], mode, ahead
            )
            if progress[MERGED] < progress[WRITTEN]:
                return STUCK
        if progress[NEXT_START] == starts.size:
            return DONE
        if steps >= work or stop[0] != 0:
            return PAUSED
        more, fits = _follow(levels, sets, starts, progress, key, counts, reached, out, weights)
        if not fits:
            return TOO_MANY
        steps += more


@kernel
def _room(d, counted, x, new, where, count, queue, seeds):
    """Take rows for a group; return the first, or -1 and what has no room for it."""
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    at = segment_of(d, np.uint64(0), x)
    if segments[at + np.uint64(SEGMENT_ROWS)] + new > segments[at + np.uint64(SEGMENT_ROOM)]:
        return np.int64(-1), np.int64(at) // SEGMENT_WIDTH
    if counted and d[WIDE] == 0:
        narrow = i32(d[COUNT_RECURSIVE], d[CAPACITY])
        for k in range(seeds):
            z = np.uint64(queue[k])
            if np.int64(narrow[where[z]]) > _I32_MAX - np.int64(count[z]):
                return np.int64(-1), np.int64(OVERFLOW)
    first = take_rows(d, new)
    return first, np.int64(NO_ROOM)


@kernel(resumes=True)
def saturate(
    d,
    number,
    counted,
    group,
    order,
    begin,
    offsets,
    targets,
    depth,
    where,
    count,
    queue,
    met,
    stop,
    work,
):
    """Close groups under `T(x, z) :- T(x, y), edge(y, z)`; return the first row not done.

    order[begin:] are the rows of the relation by column `group` (0 or 1), whose constant is x and
    which also chooses the membership segment; the edges are offsets and targets. Everything that
    follows from one x is found before the next begins: `where` and `count` over constants, the
    latter all zero between groups, fit the cache. New facts are appended, without labels; C_r of
    all facts of the group grows by their derivations, if these are `counted`; met[y] grows by one
    for each fact (x, y). Stops before a group that something has no room for (LANE_STOP says
    what), after about `work` steps, or when asked to. Threads may close groups of different
    segments at once.
    """
    capacity = d[CAPACITY]
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    keys = u32(d[COLUMNS + group], capacity)
    values = u32(d[COLUMNS + 1 - group], capacity)
    narrow = i32(d[COUNT_RECURSIVE], capacity)
    wide = i64(d[COUNT_RECURSIVE], capacity)
    is_wide = d[WIDE] != 0
    known = np.uint64(offsets.size - 1)
    steps = 0
    i = begin
    while i < order.size and steps < work and stop[0] == 0:
        x = keys[order[i]]
        n = np.uint64(0)
        j = i
        while j < order.size and keys[order[j]] == x:
            y = np.uint64(values[order[j]])
            where[y] = order[j]
            count[y] = 1  # of a seed it is one more than its derivations
            queue[n] = np.uint32(y)
            n += np.uint64(1)
            j += 1
        seeds = n
        at = np.uint64(0)
        rounds = 0  # facts of depth r come in round r
        deeper = n
        while at < n:
            if at == deeper:
                rounds += 1
                deeper = n
            y = np.uint64(queue[at])
            at += np.uint64(1)
            if y >= known:
                continue
            first, last = np.uint64(offsets[y]), np.uint64(offsets[y + np.uint64(1)])
            steps += np.int64(last - first)
            for k in range(first, last):
                z = np.uint64(targets[k])
                before = count[z]
                count[z] = before + np.uint32(1)
                queue[n] = np.uint32(z)  # overwritten if z is there: cheaper than a branch
                n += np.uint64(before == 0)
        steps += np.int64(n)
        taken, reason = _room(d, counted, x, np.int64(n - seeds), where, count, queue, seeds)
        if taken < 0:
            lane_of(d, number)[LANE_STOP] = reason
            for k in range(n):
                count[queue[k]] = 0
            break
        row = np.uint64(taken)
        segment = segment_of(d, np.uint64(0), x)
        segments[segment + np.uint64(SEGMENT_ROWS)] += np.int64(n - seeds)
        n_slots = np.uint64(segments[segment + np.uint64(SEGMENT_N_SLOTS)])
        slots = u32(segments[segment], n_slots)
        for k in range(seeds):
            z = np.uint64(queue[k])
            met[z] += 1
            if not counted:
                pass
            elif is_wide:
                wide[where[z]] += np.int64(count[z]) - 1
            else:
                narrow[where[z]] += np.int32(count[z]) - np.int32(1)
            count[z] = 0
        for k in range(seeds, n):
            z = queue[k]
            met[np.uint64(z)] += 1
            keys[row] = x
            values[row] = z
            if not counted:
                pass
            elif is_wide:
                wide[row] = np.int64(count[np.uint64(z)])
            else:
                narrow[row] = np.int32(count[np.uint64(z)])
            count[np.uint64(z)] = 0
            h = hash_step(hash_step(np.uint64(2), x if group == 0 else z), z if group == 0 else x)
            slot = slot_of(h, n_slots)
            while slots[slot] != EMPTY:
                slot += np.uint64(1)
                if slot == n_slots:
                    slot = np.uint64(0)
            slots[slot] = np.uint32(row)
            row += np.uint64(1)
        depth[0] = max(depth[0], rounds)
        i = j
    return i
