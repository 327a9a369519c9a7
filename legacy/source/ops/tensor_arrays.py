"""Writers of tensor arrays, which loops read their inputs from and write their outputs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict

import numpy as np
import tensorflow as tf

from legacy.source.basics.expressions import OMIT, Method, Name, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: {op type: position of the flow, which stands for the array, among its inputs}.
FLOWS = {
    "TensorArrayReadV3": 2,
    "TensorArrayWriteV3": 3,
    "TensorArrayScatterV3": 3,
    "TensorArrayGatherV3": 2,
    "TensorArrayConcatV3": 1,
    "TensorArraySizeV3": 1,
}


def write_array(op: OpView) -> Expression | None:
    """Writes a new tensor array."""
    dynamic = True if op.attribute("dynamic_size") else OMIT
    keep = OMIT if op.attribute("clear_after_read") else False
    dtype = Name("tf." + op.attribute("dtype").name)
    shape = tf.TensorShape(op.attribute("element_shape"))
    sizes = None if shape.rank is None else shape.as_list()
    if sizes and sizes[0] == op.batch and op.rows_vary:
        sizes[0] = None
    unstacked = any(user.type == "TensorArrayScatterV3" for user in op.operation.outputs[1].consumers())
    return call(
        "tf.TensorArray",
        dtype,
        op.argument(0),
        dynamic_size=dynamic,
        clear_after_read=keep,
        element_shape=sizes if sizes is not None and not unstacked else OMIT,
    )


def write_read(op: OpView) -> Expression | None:
    """Writes the reading of one element."""
    return Method(_array(op), "read", (op.argument(1),))


def write_write(op: OpView) -> Expression | None:
    """Writes the writing of one element."""
    return Method(_array(op), "write", (op.argument(1), op.argument(2)))


def write_scatter(op: OpView) -> Expression | None:
    """Writes the division of a tensor among the elements."""
    if _are_all(op, 1):
        return Method(_array(op), "unstack", (op.argument(2),))
    return Method(_array(op), "scatter", (op.argument(1), op.argument(2)))


def write_gather(op: OpView) -> Expression | None:
    """Writes the joining of elements."""
    if _are_all(op, 1):
        return Method(_array(op), "stack", ())
    return Method(_array(op), "gather", (op.argument(1),))


def write_concat(op: OpView) -> Expression | None:
    """Writes the concatenation of elements."""
    return Method(_array(op), "concat", ())


def write_size(op: OpView) -> Expression | None:
    """Writes the number of elements."""
    return Method(_array(op), "size", ())


def _array(op: OpView) -> Expression:
    return op.argument(FLOWS[op.type])


def _are_all(op: OpView, position: int) -> bool:
    """Returns whether indices are 0, 1, 2, ... up to the size of the array."""
    indices = op.constant(position)
    if indices is not None:
        return bool(np.array_equal(indices, np.arange(indices.size)))
    producer = op.producer(position)
    start, step = (producer.constant(0), producer.constant(2)) if producer.type == "Range" else (None, None)
    if start is None or step is None:
        return False
    whole = producer.producer(1).type in ("TensorArraySizeV3", "StridedSlice", "Const")
    return whole and int(start) == 0 and int(step) == 1


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    "TensorArrayConcatV3": write_concat,
    "TensorArrayGatherV3": write_gather,
    "TensorArrayReadV3": write_read,
    "TensorArrayScatterV3": write_scatter,
    "TensorArraySizeV3": write_size,
    "TensorArrayV3": write_array,
    "TensorArrayWriteV3": write_write,
}
