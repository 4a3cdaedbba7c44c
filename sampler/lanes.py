"""Float32 side by side, for compiled kernels: categories are handled LANES at a time.

Loops over the categories would do the same, but each time they run they ask anew whether arrays overlap, and their
sums go through memory. These values stay in registers. Products and sums are rounded one by one, as scalars are.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from sampler.blocks import LANES

VECTOR = ir.VectorType(ir.FloatType(), LANES)


class Lanes(types.Type):
    """The type of LANES float32."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


LANES_TYPE = Lanes()


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """A vector register, or several."""

    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, VECTOR)


def address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Pointer to the lanes that begin at array[row, place]."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    row, place = (builder.zext(index, ir.IntType(64)) if index.type.width < 64 else index for index in arguments[1:3])
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.bitcast(builder.gep(array.data, [builder.add(builder.mul(row, width), place)]), VECTOR.as_pointer())


def has_lanes(kind: Any) -> bool:
    """Whether lanes can be read from such an array."""
    return isinstance(kind, types.Array) and (kind.ndim, kind.layout, kind.dtype) == (2, "C", types.float32)


@intrinsic
def load(typing_context, array, row, place):  # type: ignore[no-untyped-def]
    """The lanes array[row, place : place + LANES]; nothing is checked."""
    if not has_lanes(array):
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(address(context, builder, signature, arguments), align=4)

    return LANES_TYPE(array, row, place), generate


@intrinsic
def store(typing_context, lanes, array, row, place):  # type: ignore[no-untyped-def]
    """Write array[row, place : place + LANES]; nothing is checked."""
    if not has_lanes(array):
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        signature = types.void(*signature.args[1:])
        builder.store(arguments[0], address(context, builder, signature, arguments[1:]), align=4)
        return context.get_dummy_value()

    return types.void(LANES_TYPE, array, row, place), generate


@intrinsic
def spread(typing_context, value):  # type: ignore[no-untyped-def]
    """The same float32 in all lanes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zero = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], zero)
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

    return LANES_TYPE(types.float32), generate


@intrinsic
def add(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Sums, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fadd(*arguments)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), generate


@intrinsic
def multiply(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Products, lane by lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fmul(*arguments)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), generate


@intrinsic
def where_greater(typing_context, left, right, then, otherwise):  # type: ignore[no-untyped-def]
    """`then` in the lanes where left > right, `otherwise` in the rest."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        is_greater = builder.fcmp_ordered(">", arguments[0], arguments[1])
        return builder.select(is_greater, arguments[2], arguments[3])

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE, LANES_TYPE), generate
