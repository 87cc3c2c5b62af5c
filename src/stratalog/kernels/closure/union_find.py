"""Components of undirected graphs by union-find, and the pairs of their members."""

from __future__ import annotations

from stratalog.kernels.jit import kernel


@kernel
def root_of(parents, vertex):
    """Return the first vertex of a component; paths on the way are halved."""
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex


@kernel
def link(parents, edges):
    """Let the ends of each edge be in one component; parents[v] becomes its least vertex."""
    for e in range(edges.shape[1]):
        a, b = root_of(parents, edges[0, e]), root_of(parents, edges[1, e])
        if a < b:
            parents[b] = a
        else:
            parents[a] = b
    for v in range(parents.size):
        parents[v] = root_of(parents, v)


@kernel
def count_pairs(new, old, is_old):
    """Return how many pairs `write_pairs` writes."""
    total = 0
    begin = 0
    while begin < new.size:
        end = begin
        same = 0  # pairs that were in one component before
        part = 0
        while end < new.size and new[end] == new[begin]:
            part = part + 1 if end > begin and old[end] == old[end - 1] else 1
            same += 2 * part - 1 if is_old[end] else 0
            end += 1
        total += (end - begin) * (end - begin) - same
        begin = end
    return total


@kernel
def write_pairs(new, old, is_old, constants, pairs):
    """Write the pairs of each component that were not in one before.

    Vertices are sorted by component, and within by what was their component before, if any.
    """
    at = 0
    begin = 0
    while begin < new.size:
        end = begin
        while end < new.size and new[end] == new[begin]:
            end += 1
        for i in range(begin, end):
            for j in range(begin, end):
                if old[i] != old[j] or not is_old[i]:
                    pairs[0, at] = constants[i]
                    pairs[1, at] = constants[j]
                    at += 1
        begin = end
