"""Arrays by address: relations have any number of columns and indexes, kernels a fixed signature.

A relation is described to kernels by an int64 array, its *descriptor*; a table of the descriptors'
addresses names relations by number. Addresses hold no references: whoever fills a descriptor keeps
the arrays alive, and a kernel reads addresses anew after anything that may have grown a relation.
"""

from __future__ import annotations

from numba import carray, types
from numba.extending import intrinsic

from stratalog.kernels.jit import kernel

# Fields of a relation's descriptor.
ARITY = 0
ROWS = 1
CAPACITY = 2
LABELS = 3  # address of uint16[capacity]
COUNT_NONRECURSIVE = 4  # address of int32[capacity], or int64 if WIDE
COUNT_RECURSIVE = 5
WIDE = 6
SLOTS = 7  # address of uint32[nslots]: membership
NSLOTS = 8
DELTA = 9  # address of uint32[n_delta]: rows of the positive delta
N_DELTA = 10
NEGATED_DELTA = 11
N_NEGATED_DELTA = 12
TOUCHED = 13  # address of uint32[touched capacity]: rows derived by the running apply
N_TOUCHED = 14
TOUCHED_CAPACITY = 15
COLUMNS = 16  # addresses of uint32[capacity], `arity` of them; then the indexes

# Fields of an index within a descriptor.
INDEX_KIND = 0
INDEX_HEADS = 1  # address of uint32[n_heads]
INDEX_N_HEADS = 2
INDEX_NEXT = 3  # address of uint32[capacity]
INDEX_KEYS = 4  # number of key columns
INDEX_KEY_COLUMNS = 5  # the key columns, `arity` places

DIRECT = 0  # heads by constant
HASHED = 1  # heads by open addressing on the key

NULL = 0xFFFFFFFF
"""No row: an empty slot, the end of a chain, a missing fact."""


def _caster(dtype):
    @intrinsic
    def cast(typing_context, address):  # noqa: ARG001  # numba's signature of an intrinsic
        def build(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(dtype)(types.int64), build

    return cast


_as_u16, _as_u32 = _caster(types.uint16), _caster(types.uint32)
_as_i32, _as_i64 = _caster(types.int32), _caster(types.int64)


@kernel
def u16(address, size):
    return carray(_as_u16(address), (size,))


@kernel
def u32(address, size):
    return carray(_as_u32(address), (size,))


@kernel
def i32(address, size):
    return carray(_as_i32(address), (size,))


@kernel
def i64(address, size):
    return carray(_as_i64(address), (size,))


@kernel
def index_offset(arity, index):
    """Return where index number `index` begins in the descriptor of a relation."""
    return COLUMNS + arity + index * (INDEX_KEY_COLUMNS + arity)
