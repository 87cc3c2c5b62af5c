"""Intersections: a step that binds one variable from several atoms at once.

All other arguments of these atoms are known, so each has a list of constants for every input
binding. The work follows the shortest list: a body with cycles is evaluated in the worst-case
optimal number of steps, instead of by trying all pairs.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    INDEX_NEXT,
    LABELS,
    i64,
    index_offset,
    u16,
    u32,
)
from stratalog.kernels.plan.sorted_lists import (
    ALMOST_FULL,
    find_in_list,
    intersect,
    intersect_filtered,
)
from stratalog.kernels.plan.steps import (
    BLOCK,
    DESCRIPTOR,
    EXHAUSTED,
    INDEX,
    LISTS,
    N_ACTIVE,
    N_COPIES,
    N_IN,
    PASS_KEPT,
    PASS_POSITION,
    POSITION,
    READY,
    RELATION,
    SCAN_SLICE,
    WORK,
    copy_variables,
)
from stratalog.kernels.relation.index import (
    FILTERED,
    LAYOUT_FILTERS,
    LAYOUT_ROWS,
    LAYOUT_SIZE,
    LAYOUT_VALUES,
    LAYOUT_WIDTH,
    LAYOUT_WORDS,
    chain,
    laid_out,
    layout_address,
)
from stratalog.kernels.relation.lookups import CONSTANT, MET, find_facts
from stratalog.kernels.relation.rows import EMPTY

# The step: [operation, atoms, variable, 0, 0, 0, 0, copies], the copies, the offset of each atom
# from the step, the atoms. An atom: [relation, index, set], then a key for each column, MET where
# the variable stands.
ATOM_RELATION, ATOM_INDEX, ATOM_SET, ATOM_KEYS = 0, 1, 2, 3


@kernel
def _fill_met_key(plan, atom, arity, bind, source, b, key):
    n = 0
    for c in range(arity):
        kind, value = plan[atom + ATOM_KEYS + 2 * c], plan[atom + ATOM_KEYS + 2 * c + 1]
        if kind != MET:
            key[n] = np.uint32(value) if kind == CONSTANT else bind[source + value, b]
            n += 1


@kernel
def _chain_of(plan, atom, d, bind, source, b, key):
    """Return the head of the chain of an atom of an intersection and how many rows it has."""
    _fill_met_key(plan, atom, d[ARITY], bind, source, b, key)
    return chain(d, index_offset(d[ARITY], plan[atom + ATOM_INDEX]), key)


@kernel
def _choose(plan, at, atoms, driver, relations, n, bind, source, key, who, where):
    """List the input bindings for which atom number `driver` has the shortest chain."""
    n_atoms = plan[at + RELATION]
    listed = 0
    for b in range(n):
        atom = at + plan[atoms + driver]
        d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
        head, size = _chain_of(plan, atom, d, bind, source, b, key)
        is_shortest = size > 0
        for other in range(n_atoms):
            if is_shortest and other != driver:
                atom = at + plan[atoms + other]
                d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
                _, length = _chain_of(plan, atom, d, bind, source, b, key)
                is_shortest = size < length or (size == length and driver < other)
        if is_shortest:
            who[listed] = np.uint32(b)
            where[listed] = head
            listed += 1
    return listed


@kernel
def _keep_members(plan, atom, d, member, bind, source, values, origin, begin, end, found, key):
    """Drop the candidates begin..end whose fact is not in the set; return where the rest ends."""
    find_facts(plan, atom + ATOM_KEYS, d, bind, source, values, origin, begin, end, found, key)
    labels = u16(d[LABELS], d[CAPACITY])
    m = begin
    for k in range(begin, end):
        row = found[k]
        some = row if row != EMPTY else np.uint32(0)
        origin[m] = origin[k]
        values[m] = values[k]
        m += np.uint64((row != EMPTY) & member[labels[some]])
    return m


@kernel
def _met_column(plan, atom, arity):
    """Return the column that holds the met variable."""
    for c in range(arity):
        if plan[atom + ATOM_KEYS + 2 * c] == MET:
            return c
    return -1


@kernel
def meet(plan, at, relations, sets, state, s, bind, source, target, active, level, key, slice_end):
    """Produce a block by binding a variable to the constants that all atoms of the step agree on.

    For each input binding the work follows the shortest of the atoms' lists. Where all lists are
    laid out, they are sorted and leap over each other; otherwise the shortest chain is followed
    and the facts of the other atoms are looked up.
    """
    n_atoms = plan[at + RELATION]
    atoms = at + LISTS + plan[at + N_COPIES]
    if state[s + READY] == 0:
        state[s + READY] = 1
        state[s + POSITION] = -1  # the atom whose chains are followed, or the binding
        state[s + PASS_POSITION] = 0
        state[s + N_ACTIVE] = 0
        state[WORK] += state[s + N_IN]
    is_laid_out = True
    for k in range(n_atoms):
        atom = at + plan[atoms + k]
        d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
        index = index_offset(d[ARITY], plan[atom + ATOM_INDEX])
        is_laid_out = is_laid_out and layout_address(d, index) != 0
    arguments = plan, at, atoms, relations, sets, state, s, bind, source
    values = bind[target + plan[at + INDEX]]
    if is_laid_out:
        m = _leap(*arguments, values, active, level, key, slice_end)
    else:
        m = _meet_chains(*arguments, values, active, level, key, slice_end)
    copy_variables(
        plan, at + LISTS, plan[at + N_COPIES], bind, source, target, active[2 * level + 2], m
    )
    return np.int64(m)


@kernel
def _meet_chains(
    plan, at, atoms, relations, sets, state, s, bind, source, values, active, level, key, slice_end
):
    """Do the work of `meet` along chains, one atom's after the other's."""
    n_atoms = plan[at + RELATION]
    who, where = active[2 * level], active[2 * level + 1]
    origin, found = active[2 * level + 2], active[2 * level + 3]
    m = np.uint64(0)
    while m < ALMOST_FULL and state[WORK] < slice_end:
        if state[s + N_ACTIVE] == 0:
            if state[s + POSITION] == n_atoms - 1:
                break
            state[s + POSITION] += 1
            driver = state[s + POSITION]
            n = state[s + N_IN]
            state[s + N_ACTIVE] = _choose(
                plan, at, atoms, driver, relations, n, bind, source, key, who, where
            )
            state[s + PASS_POSITION] = 0
            state[s + PASS_KEPT] = 0
            continue
        driver = state[s + POSITION]
        atom = at + plan[atoms + driver]
        end = _follow(plan, atom, relations, sets, state, s, active, level, values, m, slice_end)
        for other in range(n_atoms):
            if other != driver and end > m:
                atom = at + plan[atoms + other]
                d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
                member = sets[plan[atom + ATOM_SET]]
                end = _keep_members(
                    plan, atom, d, member, bind, source, values, origin, m, end, found, key
                )
        m = end
    state[s + EXHAUSTED] = state[s + N_ACTIVE] == 0 and state[s + POSITION] == n_atoms - 1
    return m


@kernel
def _follow(plan, atom, relations, sets, state, s, active, level, values, begin, slice_end):
    """Append candidates from the listed chains until the block is full or all are followed."""
    d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
    member = sets[plan[atom + ATOM_SET]]
    index = index_offset(d[ARITY], plan[atom + ATOM_INDEX])
    labels = u16(d[LABELS], d[CAPACITY])
    following = u32(d[index + INDEX_NEXT], d[CAPACITY])
    column = u32(d[COLUMNS + _met_column(plan, atom, d[ARITY])], d[CAPACITY])
    who, where = active[2 * level], active[2 * level + 1]
    origin = active[2 * level + 2]
    n_active = np.uint64(state[s + N_ACTIVE])
    p, kept = np.uint64(state[s + PASS_POSITION]), np.uint64(state[s + PASS_KEPT])
    m = begin
    while n_active > 0 and m < BLOCK and state[WORK] < slice_end:
        end = min(n_active, p + np.uint64(BLOCK) - m)
        state[WORK] += np.int64(end - p)
        for k in range(p, end):
            b, row = who[k], where[k]
            origin[m] = b
            values[m] = column[row]
            m += np.uint64(member[labels[row]])
            row = following[row]
            who[kept] = b
            where[kept] = row
            kept += np.uint64(row != EMPTY)
        p = end
        if p == n_active:
            n_active, p, kept = kept, np.uint64(0), np.uint64(0)
    state[s + N_ACTIVE], state[s + PASS_POSITION] = np.int64(n_active), np.int64(p)
    state[s + PASS_KEPT] = np.int64(kept)
    return m


@kernel
def _layout(plan, atom, relations):
    d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
    index = index_offset(d[ARITY], plan[atom + ATOM_INDEX])
    return i64(layout_address(d, index), LAYOUT_WIDTH)


@kernel
def _list_of(plan, atom, relations, bind, source, b, key):
    """Return where an atom's list and its filter begin for an input binding, and its length."""
    d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
    _fill_met_key(plan, atom, d[ARITY], bind, source, b, key)
    index = index_offset(d[ARITY], plan[atom + ATOM_INDEX])
    begin, word, size = laid_out(d, index, _layout(plan, atom, relations), key)
    return np.uint64(begin), np.uint64(word), np.uint64(size)


@kernel
def _two_shortest(plan, at, atoms, relations, bind, source, b, key):
    """Return the atoms with the shortest and the second shortest list for an input binding."""
    first, second = -1, -1
    least, less = np.uint64(0), np.uint64(0)
    for k in range(plan[at + RELATION]):
        _, _, size = _list_of(plan, at + plan[atoms + k], relations, bind, source, b, key)
        if first < 0 or size < least:
            second, less = first, least
            first, least = k, size
        elif second < 0 or size < less:
            second, less = k, size
    return first, second


@kernel
def _keep_labelled(plan, atom, relations, sets, values, origin, places, others, begin, end):
    """Drop the candidates whose row, at places[k] of an atom's layout, is not in the atom's set."""
    d = i64(relations[plan[atom + ATOM_RELATION]], DESCRIPTOR)
    layout = _layout(plan, atom, relations)
    rows = u32(layout[LAYOUT_ROWS], layout[LAYOUT_SIZE])
    labels = u16(d[LABELS], d[CAPACITY])
    member = sets[plan[atom + ATOM_SET]]
    m = begin
    for k in range(begin, end):
        is_kept = places[k] != EMPTY and member[labels[rows[places[k]]]]
        values[m], origin[m], others[m] = values[k], origin[k], others[k]
        m += np.uint64(is_kept)
    return m


@kernel
def _leap(
    plan, at, atoms, relations, sets, state, s, bind, source, values, active, level, key, slice_end
):
    """Do the work of `meet` on lists that are laid out, binding by binding.

    The state's POSITION is the binding, PASS_POSITION how much of its shortest list is done.
    """
    n_atoms = plan[at + RELATION]
    others, origin, places = active[2 * level + 1], active[2 * level + 2], active[2 * level + 3]
    b = max(0, state[s + POSITION])
    done = np.uint64(state[s + PASS_POSITION])
    m = np.uint64(0)
    while b < state[s + N_IN] and m < ALMOST_FULL and state[WORK] < slice_end:
        first, second = _two_shortest(plan, at, atoms, relations, bind, source, b, key)
        atom, other = at + plan[atoms + first], at + plan[atoms + second]
        layout, longer = _layout(plan, atom, relations), _layout(plan, other, relations)
        short = u32(layout[LAYOUT_VALUES], layout[LAYOUT_SIZE])
        long = u32(longer[LAYOUT_VALUES], longer[LAYOUT_SIZE])
        begin, _, size = _list_of(plan, atom, relations, bind, source, b, key)
        end = begin + size
        i = begin + done
        stop = min(end, i + np.uint64(SCAN_SLICE))
        j, word, size = _list_of(plan, other, relations, bind, source, b, key)
        long_end = j + size
        here, there = (places, others) if first < second else (others, places)
        if long_end - j < FILTERED:
            i, met = intersect(short, i, stop, long, j, long_end, values, here, there, m)
        else:
            filters = i64(longer[LAYOUT_FILTERS], longer[LAYOUT_WORDS])
            i, met = intersect_filtered(
                short, i, stop, long, j, long_end, filters, word, values, here, there, m
            )
        state[WORK] += np.int64(i - begin - done) + 1
        for k in range(m, met):
            origin[k] = np.uint32(b)
        if n_atoms > 2:
            met = _keep_labelled(plan, atom, relations, sets, values, origin, here, there, m, met)
            met = _keep_labelled(plan, other, relations, sets, values, origin, there, here, m, met)
            for k in range(n_atoms):
                if k not in (first, second) and met > m:
                    atom = at + plan[atoms + k]
                    layout = _layout(plan, atom, relations)
                    listed = u32(layout[LAYOUT_VALUES], layout[LAYOUT_SIZE])
                    place, _, size = _list_of(plan, atom, relations, bind, source, b, key)
                    find_in_list(listed, place, place + size, values, here, m, met)
                    met = _keep_labelled(
                        plan, atom, relations, sets, values, origin, here, there, m, met
                    )
        m = met
        done = i - begin
        if i >= end:
            b += 1
            done = np.uint64(0)
    if n_atoms == 2:  # all at once: the misses of a block overlap
        for k in range(2):
            atom = at + plan[atoms + k]
            here, there = (places, others) if k == 0 else (others, places)
            nothing = np.uint64(0)
            m = _keep_labelled(plan, atom, relations, sets, values, origin, here, there, nothing, m)
    state[s + POSITION], state[s + PASS_POSITION] = b, np.int64(done)
    state[s + EXHAUSTED] = b >= state[s + N_IN]
    return m
