"""The edges of a closure: for every node a list of neighbours, which grows and shrinks in place.

Lists are (begin, size, room, pool): pool[begin[v] : begin[v] + size[v]] are the neighbours of v,
and there is room for `room[v]`. A list that has no room left moves to the end of the pool.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel

_LEAST_ROOM = 4


@kernel
def lay_out_lists(keys, values, begin, size, room, pool):
    """Fill empty lists, one after the other and without room to grow."""
    for i in range(keys.size):
        room[keys[i]] += np.uint32(1)
    at = np.int64(0)
    for v in range(begin.size):
        begin[v] = at
        at += np.int64(room[v])
    for i in range(keys.size):
        v = keys[i]
        pool[np.uint64(begin[v]) + np.uint64(size[v])] = values[i]
        size[v] += np.uint32(1)


@kernel
def extend_lists(keys, values, at, begin, size, room, pool, used):
    """Append the values from place `at` on; return the first that has no room, and what is used."""
    for i in range(at, keys.size):
        v = keys[i]
        if size[v] == room[v]:
            wanted = max(2 * np.int64(room[v]), _LEAST_ROOM)
            if used + wanted > pool.size:
                return i, used
            old = begin[v]
            for k in range(np.int64(size[v])):
                pool[used + k] = pool[old + k]
            begin[v] = used
            room[v] = np.uint32(wanted)
            used += wanted
        pool[begin[v] + np.int64(size[v])] = values[i]
        size[v] += np.uint32(1)
    return keys.size, used


@kernel
def move_lists(begin, size, room, pool, larger):
    """Copy all lists into another pool, without room to grow; return what is used of it."""
    used = np.int64(0)
    for v in range(begin.size):
        old = begin[v]
        for k in range(np.int64(size[v])):
            larger[used + k] = pool[old + k]
        begin[v] = used
        room[v] = size[v]
        used += np.int64(size[v])
    return used


@kernel
def _is_listed(values, begin, end, value):
    """Return whether ascending values begin..end have this one."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] == value:
            return True
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return False


@kernel
def shrink_lists(keys, values, begin, size, pool):
    """Take values out of the lists of their keys, both ascending."""
    i = 0
    while i < keys.size:
        v = keys[i]
        j = i + 1
        while j < keys.size and keys[j] == v:
            j += 1
        kept = begin[v]
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            value = pool[k]
            if not _is_listed(values, i, j, value):
                pool[kept] = value
                kept += 1
        size[v] = np.uint32(kept - begin[v])
        i = j


@kernel
def spell_lists(begin, size, pool, keys, values):
    """Write every key and value of the lists."""
    n = 0
    for v in range(begin.size):
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            keys[n] = np.uint32(v)
            values[n] = pool[k]
            n += 1


@kernel
def list_reaching(starts, begin, size, pool, seen, found):
    """List what the starts reach along the lists, themselves too, and mark it; return how many."""
    n = 0
    for i in range(starts.size):
        v = starts[i]
        if seen[v] == 0:
            seen[v] = 1
            found[n] = v
            n += 1
    at = 0
    while at < n:
        v = found[at]
        at += 1
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            w = pool[k]
            if seen[w] == 0:
                seen[w] = 1
                found[n] = w
                n += 1
    return n


@kernel
def find_components(
    starts, begin, size, pool, number, low, place, path, stack, component, members, ends
):
    """List the strongly connected components of marked nodes, each after all that it reaches.

    number[v] is 1 for the nodes to look at and 0 for others, and becomes the order of visits.
    component[v] becomes the component's number plus one; ends[c] is where c ends in `members`.
    Returns how many there are. (Tarjan's algorithm, with the path in an array.)
    """
    time = np.uint32(2)
    top = depth = n_members = n_components = 0
    for i in range(starts.size):
        if number[starts[i]] != 1:
            continue
        v = starts[i]
        number[v] = low[v] = time
        time += np.uint32(1)
        place[v] = 0
        path[0] = stack[top] = v
        depth = 1
        top += 1
        while depth > 0:
            v = path[depth - 1]
            k = place[v]
            if k < size[v]:
                place[v] = k + np.uint32(1)
                w = pool[begin[v] + np.int64(k)]
                if number[w] == 1:
                    number[w] = low[w] = time
                    time += np.uint32(1)
                    place[w] = 0
                    path[depth] = stack[top] = w
                    depth += 1
                    top += 1
                elif number[w] > 1 and component[w] == 0:
                    low[v] = min(low[v], number[w])
                continue
            depth -= 1
            if depth > 0:
                u = path[depth - 1]
                low[u] = min(low[u], low[v])
            if low[v] == number[v]:
                w = v + np.uint32(1)
                while w != v:
                    top -= 1
                    w = stack[top]
                    component[w] = n_components + 1
                    members[n_members] = w
                    n_members += 1
                ends[n_components] = n_members
                n_components += 1
    return n_components
