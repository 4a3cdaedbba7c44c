"""Numbers side by side, for compiled kernels: categories, or a document's tokens, are handled LANES at a time.

Loops would do the same, but each time they run they test whether arrays overlap, and their sums go through memory.
These values stay in registers. Products and sums of float32 are rounded one by one, as scalars are.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from sampler.corpus import Array
from sampler.numerics.memory import address

LANES = 32  # side by side in vector registers: slots of categories are padded to a multiple
CACHE_LINE = 64  # bytes: rows that begin with one are read with fewer accesses


class Lanes(types.Type):
    """The type of LANES numbers, float32 or int32, or of as many flags."""

    def __init__(self, element: types.Type) -> None:
        super().__init__(name=f"Lanes({element}, {LANES})")


FLOATS, WHOLES, FLAGS = Lanes(types.float32), Lanes(types.int32), Lanes(types.boolean)
ELEMENTS = {FLOATS: ir.FloatType(), WHOLES: ir.IntType(32), FLAGS: ir.IntType(1)}
VECTORS = {kind: ir.VectorType(element, LANES) for kind, element in ELEMENTS.items()}
SHORTS = ir.VectorType(ir.IntType(16), LANES)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """A vector register, or several."""

    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, VECTORS[kind])


def aligned(shape: tuple[int, ...], dtype: type[np.generic]) -> Array:
    """Zeros that begin with a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    return memory[first : first + size].view(dtype).reshape(shape)


@njit(cache=True, nogil=True)
def aligned_rows(n_rows, n_columns):  # type: ignore[no-untyped-def]
    """Zeros float32[n_rows, n_columns] that begin with a cache line, for compiled kernels."""
    memory = np.zeros(n_rows * n_columns + CACHE_LINE // 4, np.float32)
    first = (-memory.ctypes.data % CACHE_LINE) // 4
    return memory[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def lanes_of(kind: Any) -> Lanes | None:
    """The lanes that such an array has."""
    if not isinstance(kind, types.Array) or (kind.ndim, kind.layout) != (2, "C"):
        return None
    return {types.float32: FLOATS, types.int32: WHOLES}.get(kind.dtype)


@intrinsic
def load(typing_context, array, row, place):  # type: ignore[no-untyped-def]
    """The lanes array[row, place : place + LANES]; nothing is checked."""
    kind = lanes_of(array)
    if kind is None:
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(address(context, builder, signature, arguments, VECTORS[kind]), align=4)

    return kind(array, row, place), generate


@intrinsic
def store(typing_context, lanes, array, row, place):  # type: ignore[no-untyped-def]
    """Write array[row, place : place + LANES]; nothing is checked."""
    if lanes_of(array) != lanes:
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        signature = types.void(*signature.args[1:])
        builder.store(arguments[0], address(context, builder, signature, arguments[1:], VECTORS[lanes]), align=4)
        return context.get_dummy_value()

    return types.void(lanes, array, row, place), generate


@intrinsic
def load_short(typing_context, array, row, place):  # type: ignore[no-untyped-def]
    """The int16 array[row, place : place + LANES] as int32; nothing is checked."""
    if not isinstance(array, types.Array) or (array.ndim, array.layout, array.dtype) != (2, "C", types.int16):
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        shorts = builder.load(address(context, builder, signature, arguments, SHORTS), align=2)
        return builder.sext(shorts, VECTORS[WHOLES])

    return WHOLES(array, row, place), generate


@intrinsic
def spread(typing_context, value):  # type: ignore[no-untyped-def]
    """The same number, float32 or int32, in all lanes."""
    kind = {types.float32: FLOATS, types.int32: WHOLES}.get(value)
    if kind is None:
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zero = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(VECTORS[kind], ir.Undefined), arguments[0], zero)
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

    return kind(value), generate


@intrinsic
def add(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Sums, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return (builder.fadd if left == FLOATS else builder.add)(*arguments)

    return left(left, left), generate


@intrinsic
def multiply(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Products, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return (builder.fmul if left == FLOATS else builder.mul)(*arguments)

    return left(left, left), generate


@intrinsic
def greater(typing_context, left, right):  # type: ignore[no-untyped-def]
    """In which lanes left > right, both float32 or both int32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return (builder.fcmp_ordered if left == FLOATS else builder.icmp_signed)(">", *arguments)

    return FLAGS(left, left), generate


@intrinsic
def reached(typing_context, left, right):  # type: ignore[no-untyped-def]
    """In which lanes left >= right, both float32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fcmp_ordered(">=", *arguments)

    return FLAGS(FLOATS, FLOATS), generate


@intrinsic
def equal(typing_context, left, right):  # type: ignore[no-untyped-def]
    """In which lanes left == right, both int32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.icmp_signed("==", *arguments)

    return FLAGS(WHOLES, WHOLES), generate


@intrinsic
def where(typing_context, flags, then, otherwise):  # type: ignore[no-untyped-def]
    """`then` in the lanes with a flag, `otherwise` in the rest."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.select(*arguments)

    return then(FLAGS, then, then), generate


@intrinsic
def ones(typing_context, flags):  # type: ignore[no-untyped-def]
    """1 in the lanes with a flag, 0 in the rest."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.zext(arguments[0], VECTORS[WHOLES])

    return WHOLES(FLAGS), generate


@intrinsic
def how_many(typing_context, flags):  # type: ignore[no-untyped-def]
    """The number of lanes with a flag, int32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(builder.bitcast(arguments[0], ir.IntType(LANES)))

    return types.int32(FLAGS), generate


@intrinsic
def first(typing_context, flags, start):  # type: ignore[no-untyped-def]
    """The first lane with a flag from `start` on, uint64; LANES if there is none."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        long = ir.IntType(64)
        later = builder.shl(ir.Constant(long, -1), arguments[1])
        found = builder.and_(builder.zext(builder.bitcast(arguments[0], ir.IntType(LANES)), long), later)
        return builder.cttz(builder.or_(found, ir.Constant(long, 1 << LANES)), ir.Constant(ir.IntType(1), 0))

    return types.uint64(FLAGS, types.uint64), generate


@intrinsic
def largest(typing_context, counts):  # type: ignore[no-untyped-def]
    """The largest lane, int32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(ir.IntType(32), [VECTORS[WHOLES]])
        name = f"llvm.vector.reduce.smax.v{LANES}i32"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

    return types.int32(WHOLES), generate


@intrinsic
def subtract(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Differences, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return (builder.fsub if left == FLOATS else builder.sub)(*arguments)

    return left(left, left), generate


@intrinsic
def exclusive_or(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Bits that are set in one of two int32, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.xor(*arguments)

    return WHOLES(WHOLES, WHOLES), generate


@intrinsic
def shift_right(typing_context, bits, n):  # type: ignore[no-untyped-def]
    """The bits of int32 shifted by those of another, zeros from the left."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.lshr(*arguments)

    return WHOLES(WHOLES, WHOLES), generate


@intrinsic
def unsigned_float(typing_context, bits):  # type: ignore[no-untyped-def]
    """The 32 bits of each lane as a number from 0 to 2^32, rounded to float32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.uitofp(arguments[0], VECTORS[FLOATS])

    return FLOATS(WHOLES), generate


@intrinsic
def total(typing_context, counts):  # type: ignore[no-untyped-def]
    """The sum of all lanes, int32."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(ir.IntType(32), [VECTORS[WHOLES]])
        name = f"llvm.vector.reduce.add.v{LANES}i32"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

    return types.int32(WHOLES), generate


@intrinsic
def numbered(typing_context):  # type: ignore[no-untyped-def]
    """0, 1, 2, ..."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return ir.Constant(VECTORS[WHOLES], list(range(LANES)))

    return WHOLES(), generate


def padded(n_slots: int) -> int:
    """The least multiple of LANES with room for so many categories, or whatever else lies side by side."""
    return -(-n_slots // LANES) * LANES
