"""Components of a symmetric closure: found again from the edges when these are taken or added.

The row of a component is its members, as nodes and then as constants. Members are grouped by the
component they belong to in the other version, so that what is lost, kept or gained is a range.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.union_find import root_of
from stratalog.kernels.closure.versions import (
    ADDRESS,
    COUNT,
    N_CHANGED,
    SPACE,
    give_row,
    take_row,
)
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import u32
from stratalog.kernels.relation.rows import EMPTY

NO_NODE = EMPTY


@kernel
def _members(rows, r):
    return u32(rows[r, ADDRESS], rows[r, COUNT])


@kernel
def _meet(lists, v, g, first, owner, link, tails, heads, parent, live):
    """Go on from v with search g: take neighbours nobody has, join the searches of others.

    Returns the searches left; 1 is not gone below. Searches before `first` are over.
    """
    begin, size, pool = lists
    for k in range(begin[v], begin[v] + np.int64(size[v])):
        w = pool[k]
        if owner[w] <= first:
            owner[w] = g + 1
            link[w] = NO_NODE
            if heads[g] == NO_NODE:
                heads[g] = w
            else:
                link[tails[g]] = w
            tails[g] = w
            continue
        other = root_of(parent, np.int64(owner[w]) - 1)
        if other != g:
            parent[other] = g
            live -= 1
            if heads[other] != NO_NODE:
                if heads[g] == NO_NODE:
                    heads[g] = heads[other]
                else:
                    link[tails[g]] = heads[other]
                tails[g] = tails[other]
            if live == 1:
                return live
    return live


@kernel
def _search(seeds, first, end, out_lists, in_lists, owner, link, searches):
    """Search from seeds first..end in turn until one search is left; return how many ended before.

    Searches that meet become one. Edges that were just added may lead to other components, where
    searches that are over have been. `owner` becomes the number plus one of the search that found a
    node; sizes[s] becomes 0 for those which found all of their component, and else -1.
    """
    parent, heads, tails, ring, sizes = searches
    for s in range(first, end):
        parent[s] = s
        heads[s] = tails[s] = seeds[s]
        ring[s - first] = s
        owner[seeds[s]] = s + 1
        link[seeds[s]] = NO_NODE
        sizes[s] = -1
    live = end - first
    left = end - first  # in the ring, some of which others have joined
    ended = at = 0
    while live > 1:
        at = at if at < left else 0
        g = ring[at]
        if parent[g] != g or heads[g] == NO_NODE:
            if parent[g] == g:
                sizes[g] = 0
                ended += 1
                live -= 1
            left -= 1
            ring[at] = ring[left]
            continue
        v = heads[g]
        heads[g] = link[v]
        live = _meet(out_lists, v, g, first, owner, link, tails, heads, parent, live)
        if live > 1:
            live = _meet(in_lists, v, g, first, owner, link, tails, heads, parent, live)
        at += 1
    return ended


@kernel
def _make_component(rows, free, state, versions, constants, nodes, is_alone):
    """Give these nodes a component of their own, or none if it is one node without edges."""
    if is_alone:
        give_row(rows, free, state, versions, nodes[0], EMPTY)
        return
    size = nodes.size
    space = u32(state[SPACE], 2 * size)
    for i in range(size):
        space[i] = nodes[i]
        space[size + i] = constants[nodes[i]]
    r = take_row(rows, free, state, size, size, 0, 0)
    for i in range(size):
        give_row(rows, free, state, versions, space[i], r)


@kernel
def _has_no_edge(v, out_lists, in_lists):
    return out_lists[1][v] == 0 and in_lists[1][v] == 0


@kernel
def split_components(
    seeds,
    ends,
    out_lists,
    in_lists,
    constants,
    versions,
    rows,
    free,
    state,
    owner,
    link,
    searches,
    sorted_members,
):
    """Split components whose edges were taken: those of seeds[ends[i - 1] : ends[i]], for each i.

    Space must be left for the members of all. `owner` must be zero for these.
    """
    parent, _, _, _, sizes = searches
    after = versions[1]
    for c in range(ends.size):
        first = ends[c - 1] if c > 0 else 0
        old = after[seeds[first]]
        ended = _search(seeds, first, ends[c], out_lists, in_lists, owner, link, searches)
        count = rows[old, COUNT]
        if ended == 0:
            if count == 1 and _has_no_edge(seeds[first], out_lists, in_lists):
                give_row(rows, free, state, versions, seeds[first], EMPTY)
            continue
        members = _members(rows, old)
        rest = np.int64(0)
        for v in members:
            s = root_of(parent, np.int64(owner[v]) - 1) if owner[v] > first else np.int64(-1)
            if s >= 0 and sizes[s] >= 0:
                sizes[s] += 1
            else:
                sorted_members[rest] = v
                rest += 1
        place = rest
        for s in range(first, ends[c]):  # sizes become where the nodes of a search begin
            if parent[s] == s and sizes[s] >= 0:
                place, sizes[s] = place + sizes[s], place
        for v in members:
            s = root_of(parent, np.int64(owner[v]) - 1) if owner[v] > first else np.int64(-1)
            if s >= 0 and sizes[s] >= 0:
                sorted_members[sizes[s]] = v
                sizes[s] += 1
        begin = np.int64(0)
        stop = rest
        while begin < count:  # `members` may be gone from now on
            part = sorted_members[begin:stop]
            is_alone = part.size == 1 and _has_no_edge(part[0], out_lists, in_lists)
            _make_component(rows, free, state, versions, constants, part, is_alone)
            begin = stop
            if begin < count:
                v = sorted_members[begin]
                stop = sizes[root_of(parent, np.int64(owner[v]) - 1)]


@kernel
def _representative(rows, after, v):
    return v if after[v] == EMPTY else _members(rows, after[v])[0]


@kernel
def join_nodes(firsts, seconds, after, rows, parent, is_met, met):
    """Find which components new edges join, by their first members, and list all of these.

    `parent` and `is_met` are over nodes. Returns how many are listed, how many are left
    of them once joined, and the members of all.
    """
    n = joined = 0
    words = np.int64(0)
    for i in range(firsts.size):
        u = _representative(rows, after, firsts[i])
        v = _representative(rows, after, seconds[i])
        for w in (u, v):
            if not is_met[w]:
                is_met[w] = True
                parent[w] = w
                met[n] = w
                n += 1
                words += 1 if after[w] == EMPTY else rows[after[w], COUNT]
        u, v = root_of(parent, u), root_of(parent, v)
        if u != v:
            parent[max(u, v)] = min(u, v)
            joined += 1
    return n, n - joined, words


@kernel
def join_components(met, constants, versions, rows, free, state, parent, sizes, place, gathered):
    """Make one component of those whose first members have the same root.

    `sizes` and `place` are over nodes and zero for these. Space must be left for all members.
    """
    after = versions[1]
    for w in met:
        sizes[root_of(parent, w)] += 1 if after[w] == EMPTY else np.uint32(rows[after[w], COUNT])
    at = np.uint32(0)
    for w in met:
        if parent[w] == w:
            place[w] = at
            at += sizes[w]
    for w in met:
        root = root_of(parent, w)
        if after[w] == EMPTY:
            gathered[place[root]] = w
            place[root] += np.uint32(1)
        else:
            for v in _members(rows, after[w]):
                gathered[place[root]] = v
                place[root] += np.uint32(1)
    for w in met:
        if parent[w] == w:
            nodes = gathered[place[w] - sizes[w] : place[w]]
            if after[w] == EMPTY or np.int64(sizes[w]) != rows[after[w], COUNT]:
                _make_component(rows, free, state, versions, constants, nodes, False)


@kernel
def _group(rows, r, other, part, sizes, listed, gathered):
    """Group a component's members by `other`, which has their components in the other version.

    part[v] becomes where the members begin that are in the same as v. `sizes` is over components,
    and one more for none; zero before and after.
    """
    count = rows[r, COUNT]
    data = u32(rows[r, ADDRESS], 2 * count)
    none = np.uint32(sizes.size - 1)
    n = 0
    for i in range(count):
        c = min(other[data[i]], none)
        if sizes[c] == 0:
            listed[n] = c
            n += 1
        sizes[c] += np.uint32(1)
    begin = np.uint32(0)
    for k in range(n):
        c = listed[k]
        begin, sizes[c] = begin + sizes[c], begin
    for i in range(count):
        c = min(other[data[i]], none)
        gathered[sizes[c]] = np.uint64(data[i]) << np.uint64(32) | np.uint64(data[count + i])
        sizes[c] += np.uint32(1)
    begin = np.uint32(0)
    at = 0
    for k in range(n):
        stop = sizes[listed[k]]
        while at < stop:
            v = np.uint32(gathered[at] >> np.uint64(32))
            data[at] = v
            data[count + at] = np.uint32(gathered[at])
            part[v] = begin
            at += 1
        begin = stop
        sizes[listed[k]] = 0


@kernel
def find_parts(rows, state, versions, parts, scratch):
    """Group the members of changed components, so that every part of one is a range in both.

    A part has the nodes that share a component before and after. Its size is 0 if there is none.
    """
    before, after, _, changed = versions
    part_before, part_after = parts[0], parts[1]
    sizes, is_done, listed, gathered = scratch
    for i in range(state[N_CHANGED]):
        v = changed[i]
        b, a = before[v], after[v]
        if b == a:
            continue
        if b != EMPTY and not is_done[b]:
            is_done[b] = True
            _group(rows, b, after, part_before, sizes, listed, gathered)
        if a != EMPTY and not is_done[a]:
            is_done[a] = True
            _group(rows, a, before, part_after, sizes, listed, gathered)
    _measure_parts(rows, state, versions, parts)


@kernel
def _measure_parts(rows, state, versions, parts):
    """Write the size of the part of every changed node."""
    before, after, _, changed = versions
    part_before, _, part_size = parts
    for i in range(state[N_CHANGED]):
        part_size[changed[i]] = 0
    for i in range(state[N_CHANGED]):
        v = changed[i]
        b = before[v]
        if b == EMPTY or after[v] == EMPTY or b == after[v]:
            continue
        leader = _members(rows, b)[part_before[v]]
        part_size[leader] += np.uint32(1)
    for i in range(state[N_CHANGED]):
        v = changed[i]
        b = before[v]
        if b == EMPTY or after[v] == EMPTY or b == after[v]:
            continue
        leader = _members(rows, b)[part_before[v]]
        part_size[v] = part_size[leader]
