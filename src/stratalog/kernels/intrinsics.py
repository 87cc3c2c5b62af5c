"""Primitives for Numba: arrays by address, atomic addition, words of bits, bytes as words.

Each has the name and the meaning of the primitive in Python, which stands where kernels use it.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from stratalog.kernels.compiled import compiled


def _caster(dtype):
    @intrinsic
    def cast(typing_context, address):  # noqa: ARG001  # numba's signature of an intrinsic
        def build(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(dtype)(types.int64), build

    return cast


_as_u16, _as_u32 = _caster(types.uint16), _caster(types.uint32)
_as_i32, _as_i64 = _caster(types.int32), _caster(types.int64)


@compiled
def u16(address, size):
    return carray(_as_u16(address), (size,))


@compiled
def u32(address, size):
    return carray(_as_u32(address), (size,))


@compiled
def i32(address, size):
    return carray(_as_i32(address), (size,))


@compiled
def i64(address, size):
    return carray(_as_i64(address), (size,))


@intrinsic
def _atomic_add(typing_context, address, amount):  # noqa: ARG001
    def build(context, builder, signature, args):  # noqa: ARG001
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, args[1], "monotonic")

    return types.int64(types.int64, types.int64), build


@compiled
def add_at_once(d, field, amount):
    return _atomic_add(np.int64(d.ctypes.data + 8 * field), np.int64(amount))


@compiled
def product(left, right):
    return left * right


@compiled
def total(left, right):
    return left + right


@compiled
def difference(left, right):
    return left - right


@intrinsic
def ones(typing_context, word):  # noqa: ARG001
    def build(context, builder, signature, args):  # noqa: ARG001
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), build


@intrinsic
def lowest(typing_context, word):  # noqa: ARG001
    def build(context, builder, signature, args):  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@intrinsic
def load_word(_context, data, index):  # noqa: ARG001  # types are passed, by name
    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.gep(array.data, [args[1]])
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(data, types.uint64), generate


@intrinsic
def prefetch_word(_context, data, index):  # noqa: ARG001
    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        byte = ir.IntType(8).as_pointer()
        place = builder.bitcast(builder.gep(array.data, [args[1]]), byte)
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], form)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(data, types.uint64), generate


@intrinsic
def fold_product(_context, left, right):  # noqa: ARG001
    def generate(_target, builder, _signature, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        upper = builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))
        return builder.xor(upper, builder.trunc(product, ir.IntType(64)))

    return types.uint64(types.uint64, types.uint64), generate


clock = types.ExternalFunction("clock", types.int64())  # C's clock()
