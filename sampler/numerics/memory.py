"""How compiled kernels reach arrays: rows that are asked for ahead, and arrays that are passed on at no cost.

The processor waits for memory, and numba counts references to arrays. Neither changes what is computed.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

AHEAD = 3  # words for whose rows memory is asked: rows lie too far apart for the processor to guess


def address(context: Any, builder: Any, signature: Any, arguments: Any, vector: Any) -> Any:
    """Pointer to the vector that begins at array[row, place]."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    row, place = (builder.zext(index, ir.IntType(64)) if index.type.width < 64 else index for index in arguments[1:3])
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.bitcast(builder.gep(array.data, [builder.add(builder.mul(row, width), place)]), vector.as_pointer())


@intrinsic
def prefetch(typing_context, array, row, place):  # type: ignore[no-untyped-def]
    """Have the cache line of array[row, place] brought near, whether there is such a place or not."""
    if not isinstance(array, types.Array) or (array.ndim, array.layout) != (2, "C"):
        return None

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8)
        pointer = address(context, builder, signature, arguments, byte)
        kinds = [byte.as_pointer(), *[ir.IntType(32)] * 3]
        kind = ir.FunctionType(ir.VoidType(), kinds)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, *(ir.Constant(ir.IntType(32), n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, row, place), generate


def holds_arrays(kind: Any) -> bool:
    """Whether a type is an array, or a tuple that holds nothing else."""
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        return all(holds_arrays(part) for part in kind.types)
    return isinstance(kind, types.Array)


@intrinsic
def borrow(typing_context, arrays):  # type: ignore[no-untyped-def]
    """The same named tuple of arrays, or of such tuples, for a kernel to pass on without counting references.

    numba counts one for each array of each call, with a locked instruction, which takes longer than many a call. The
    caller keeps the arrays alive until the kernel ends.
    """
    if not holds_arrays(arrays):
        return None

    def without_owner(context, builder, kind, value):  # type: ignore[no-untyped-def]
        if not isinstance(kind, types.Array):
            owned = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
            return context.make_tuple(builder, kind, [without_owner(context, builder, *part) for part in owned])
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return without_owner(context, builder, arrays, arguments[0])

    return arrays(arrays), generate
