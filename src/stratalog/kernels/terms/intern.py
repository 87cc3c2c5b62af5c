"""The hash table of the dictionary: (kind, bytes) -> dense id.

A slot is one 64-bit word: the upper half is a tag (32 bits of the hash), the lower half the id plus
one; zero is empty. The home of an entry is the upper bits of its tag, so that the table can grow,
and an entry can be removed, without reading the texts again. Linear probing.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.forms import primitive
from stratalog.kernels.jit import kernel
from stratalog.kernels.wrapping import difference

_K0 = np.uint64(0x9E3779B97F4A7C15)
_K1 = np.uint64(0xD6E8FEB86659FD93)
_K2 = np.uint64(0xA0761D6478BD642F)
_K3 = np.uint64(0xE7037ED1A0B428DB)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_WORD = np.uint64(8)
_TWO_WORDS = np.uint64(16)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_BLOCK = 32


@primitive
def load_word(data, index):
    """Return the eight bytes of `data` from `index`, which need not be aligned, as one word."""
    return np.uint64(int.from_bytes(data[index : index + _WORD].tobytes(), "little"))


@primitive
def prefetch_word(data, index):
    """Ask for the cache line of `data[index]`; changes nothing."""


@primitive
def fold_product(left, right):
    """Return the exclusive or of both halves of the 128-bit product."""
    product = int(left) * int(right)
    return np.uint64(product >> 64 ^ product & int(_ALL))


@kernel
def tag_of(data, start, end, kind):
    """Return 32 bits of the hash of the kind and the bytes, as a 64-bit number."""
    size = end - start
    mixed = fold_product(np.uint64(kind) ^ _K0, size ^ _K1)
    at = start
    while at + _TWO_WORDS <= end:
        mixed = fold_product(load_word(data, at) ^ _K2, load_word(data, at + _WORD) ^ mixed)
        at += _TWO_WORDS
    first = _ZERO
    last = _ZERO
    if size >= _WORD:
        last = load_word(data, end - _WORD)
        if end - at > _WORD:
            first = load_word(data, at)
    else:
        while at < end:
            last = (last << _WORD) | np.uint64(data[at])
            at += _ONE
    mixed = fold_product(first ^ _K3, last ^ mixed)
    return fold_product(mixed ^ _K2, _K1) >> _HALF


@kernel
def same_bytes(left, left_start, right, right_start, size):
    """Return whether `size` bytes of both arrays are the same."""
    at = _ZERO
    while at + _WORD <= size:
        if load_word(left, left_start + at) != load_word(right, right_start + at):
            return False
        at += _WORD
    if at == size:
        return True
    if size >= _WORD:
        back = size - _WORD
        return load_word(left, left_start + back) == load_word(right, right_start + back)
    while at < size:
        if left[left_start + at] != right[right_start + at]:
            return False
        at += _ONE
    return True


@kernel
def slot_of(data, start, end, kind, tag, slots, shift, arena, offsets, kinds):
    """Return the slot that holds the term, or the empty slot where it belongs."""
    mask = np.uint64(slots.size - 1)
    slot = tag >> shift
    while True:
        entry = slots[slot]
        if entry == _ZERO:
            return slot
        if entry >> _HALF == tag:
            term = (entry & _LOW) - _ONE
            begin = np.uint64(offsets[term])
            if (
                kinds[term] == kind
                and np.uint64(offsets[term + _ONE]) - begin == end - start
                and same_bytes(data, start, arena, begin, end - start)
            ):
                return slot
        slot = (slot + _ONE) & mask


@kernel(work=lambda _, starts, *__: starts.size)
def find_terms(data, starts, ends, span_kinds, found, slots, shift, arena, offsets, kinds):
    """Set found[i] to the id of span i, or to -1."""
    for i in range(np.uint64(starts.size)):
        start = np.uint64(starts[i])
        end = np.uint64(ends[i])
        kind = span_kinds[i]
        tag = tag_of(data, start, end, kind)
        slot = slot_of(data, start, end, kind, tag, slots, shift, arena, offsets, kinds)
        found[i] = np.int64(slots[slot] & _LOW) - 1


@kernel(work=lambda _, starts, *__: starts.size, usual=True)
def find_or_add_terms(
    data, starts, ends, span_kinds, first, ids, count, limit, slots, shift, arena, offsets, kinds
):
    """Set ids[i] for the spans from `first`; return (the first span without room, terms now).

    Stops where a new term would exceed `limit` or would not fit the arena; the caller makes room.
    """
    spans = np.uint64(starts.size)
    terms = np.uint64(count)
    block = np.uint64(first)
    tags = np.empty(_BLOCK, np.uint64)
    while block < spans:
        # The block's slots are asked for before the first is needed: they are scattered in memory.
        stop = min(block + np.uint64(_BLOCK), spans)
        for i in range(block, stop):
            tag = tag_of(data, np.uint64(starts[i]), np.uint64(ends[i]), span_kinds[i])
            tags[i - block] = tag
            prefetch_word(slots, tag >> shift)
        for i in range(block, stop):
            start = np.uint64(starts[i])
            end = np.uint64(ends[i])
            kind = span_kinds[i]
            tag = tags[i - block]
            slot = slot_of(data, start, end, kind, tag, slots, shift, arena, offsets, kinds)
            entry = slots[slot]
            if entry == _ZERO:
                begin = np.uint64(offsets[terms])
                if terms >= np.uint64(limit) or begin + end - start > np.uint64(arena.size):
                    return np.int64(i), np.int64(terms)
                for at in range(end - start):
                    arena[begin + at] = data[start + at]
                kinds[terms] = kind
                offsets[terms + _ONE] = np.int64(begin + end - start)
                terms += _ONE
                entry = (tag << _HALF) | terms
                slots[slot] = entry
            ids[i] = np.uint32((entry & _LOW) - _ONE)
        block = stop
    return np.int64(spans), np.int64(terms)


@kernel(usual=True)
def grow_slots(old, slots, shift):
    """Put all entries of `old` into the larger, empty `slots`."""
    mask = np.uint64(slots.size - 1)
    for i in range(np.uint64(old.size)):
        entry = old[i]
        if entry != _ZERO:
            slot = entry >> _HALF >> shift
            while slots[slot] != _ZERO:
                slot = (slot + _ONE) & mask
            slots[slot] = entry


@kernel
def fill_slots(arena, offsets, kinds, slots, shift):
    """Put all terms into the empty `slots`; return the id of one that occurs earlier, or -1."""
    terms = np.uint64(kinds.size)
    tags = np.empty(_BLOCK, np.uint64)
    block = _ZERO
    while block < terms:
        stop = min(block + np.uint64(_BLOCK), terms)
        for i in range(block, stop):
            tag = tag_of(arena, np.uint64(offsets[i]), np.uint64(offsets[i + _ONE]), kinds[i])
            tags[i - block] = tag
            prefetch_word(slots, tag >> shift)
        for i in range(block, stop):
            start = np.uint64(offsets[i])
            end = np.uint64(offsets[i + _ONE])
            tag = tags[i - block]
            slot = slot_of(arena, start, end, kinds[i], tag, slots, shift, arena, offsets, kinds)
            if slots[slot] != _ZERO:
                return np.int64(i)
            slots[slot] = (tag << _HALF) | (i + _ONE)
        block = stop
    return np.int64(-1)


@kernel(work=lambda size, count, *_: count - size)
def drop_terms(size, count, slots, shift, arena, offsets, kinds):
    """Remove the entries of the ids from `size` to `count`, closing the gaps they leave."""
    mask = np.uint64(slots.size - 1)
    for term in range(np.uint64(size), np.uint64(count)):
        start = np.uint64(offsets[term])
        end = np.uint64(offsets[term + _ONE])
        tag = tag_of(arena, start, end, kinds[term])
        gap = slot_of(arena, start, end, kinds[term], tag, slots, shift, arena, offsets, kinds)
        slot = gap
        while True:
            slot = (slot + _ONE) & mask
            entry = slots[slot]
            if entry == _ZERO:
                break
            home = entry >> _HALF >> shift
            # An entry may fill the gap unless its home lies after the gap.
            if (difference(slot, home) & mask) >= (difference(slot, gap) & mask):
                slots[gap] = entry
                gap = slot
        slots[gap] = _ZERO


@kernel
def copy_spans(data, starts, ends, out, out_offsets):
    """Copy the spans one after the other into `out`, and their ends into `out_offsets`."""
    at = _ZERO
    out_offsets[0] = 0
    for i in range(np.uint64(starts.size)):
        for source in range(np.uint64(starts[i]), np.uint64(ends[i])):
            out[at] = data[source]
            at += _ONE
        out_offsets[i + _ONE] = np.int64(at)
