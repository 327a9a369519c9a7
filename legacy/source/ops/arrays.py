"""Writers of ops that arrange a tensor's elements: shapes, joins, splits, and tensors of given numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List

import numpy as np
import tensorflow as tf

from legacy.source.basics.expressions import OMIT, Item, Listing, Literal, Name, call, values_used
from legacy.source.ops.constants import USUAL, band_expression, range_expression
from legacy.source.ops.sinusoids import sinusoids_expression
from legacy.source.ops.tables import block_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: Name in the text of {constant of the old graph: array} of the tables that are too large for a text.
TABLES = "TABLES"


def write_reshape(op: OpView) -> Expression | None:
    """Writes a reshape; the dimension that holds the batch becomes -1."""
    after = op.output_shape()
    target = op.value(1)
    if target is None or after is None:
        return call("tf.reshape", op.argument(0), listed_sizes(op, 1))
    return call("tf.reshape", op.argument(0), reshape_target(op, [int(size) for size in target], after))


def reshape_target(op: OpView, target: List[int], shape: List[int]) -> Expression:
    """Returns the target of a reshape for any number of examples.

    Args:
      op: the reshape.
      target: as in the graph, at the batch size at hand; may hold a -1.
      shape: the shape that results.

    Returns:
      A list with -1 for the first dimension if that holds the examples; otherwise the target, with `batch_size` in it.
      Where a later dimension follows the batch, the first one is another, such as the times, of whatever size.
    """
    holds_batch = _holds_examples(op, op.output, shape) and _holds_examples(op, op.tensor(0), op.shape(0))
    if holds_batch and np.prod(shape[1:], dtype=np.int64) > 0 and True not in op.follows_batch(1)[1:]:
        return Literal([-1] + shape[1:])
    return op.sizes(1) or Literal(target)


def _holds_examples(op: OpView, tensor: str, shape: List[int] | None) -> bool:
    """Returns whether the rows of a tensor of some shape are those of the batch, or of a part that the model takes."""
    rows = shape[0] if shape else 0
    return bool(rows) and (rows % op.batch == 0 or op.rows_follow_batch(tensor))


def listed_sizes(op: OpView, position: int) -> Expression:
    """Returns a vector of sizes as a list, where its entries are known or stacked; else the vector."""
    sizes = op.constant(position)
    if sizes is not None:
        return Literal([int(size) for size in sizes])
    listed = op.sizes(position)
    if listed is None and op.producer(position).type == "Pack":
        listed = Listing(tuple(op.producer(position).arguments()))
    return listed or op.argument(position)


def write_expand(op: OpView) -> Expression | None:
    """Writes a new dimension of size 1; its place may be given as a list of one."""
    axis = op.constant(1)
    return None if axis is None else call("tf.expand_dims", op.argument(0), int(axis.item()))


def write_squeeze(op: OpView) -> Expression | None:
    """Writes the removal of dimensions of size 1."""
    axes = list(op.attribute("squeeze_dims"))
    axis = OMIT if not axes else Literal(axes[0] if len(axes) == 1 else axes)
    return call("tf.squeeze", op.argument(0), axis) if axis is not OMIT else call("tf.squeeze", op.argument(0))


def write_transpose(op: OpView) -> Expression | None:
    """Writes a transposition; one that changes nothing is left out."""
    order = op.constant(1)
    if order is None:
        return None
    axes = [int(axis) for axis in order]
    if axes == sorted(axes):
        return op.argument(0)
    return call("tf.transpose", op.argument(0), axes)


def write_concat(op: OpView) -> Expression | None:
    """Writes a concatenation."""
    last = len(op.operation.inputs) - 1
    axis, parts = (op.constant(0), op.arguments(1)) if op.type == "Concat" else (op.constant(last), op.arguments(0, -1))
    return None if axis is None else call("tf.concat", Listing(tuple(parts)), axis=int(axis))


def write_stack(op: OpView) -> Expression | None:
    """Writes a stack. Python's whole numbers are int32 to TensorFlow: a stack of them alone says its dtype."""
    axis, parts = op.attribute("axis"), op.arguments()
    stack = call("tf.stack", Listing(tuple(parts)), axis=axis if axis else OMIT)
    is_typed = op.dtype() != "int64" or any(map(values_used, parts))
    return stack if is_typed else call("tf.cast", stack, Name("tf.int64"))


def write_split(op: OpView) -> Expression | None:
    """Writes a split into equal parts, or into parts of given sizes; the only part is the whole."""
    if len(op.operation.outputs) == 1:
        return op.argument(0 if op.type == "SplitV" else 1)
    if op.type == "SplitV":
        axis, sizes = op.constant(2), listed_sizes(op, 1)
        is_listed = isinstance(sizes, Listing) or op.constant(1) is not None
        return call("tf.split", op.argument(0), sizes, axis=int(axis)) if axis is not None and is_listed else None
    axis = op.constant(0)
    if axis is None:
        return None
    return call("tf.split", op.argument(1), len(op.operation.outputs), axis=int(axis))


def write_unstack(op: OpView) -> Expression | None:
    """Writes the parts of a tensor along one axis."""
    return call("tf.unstack", op.argument(0), axis=int(op.attribute("axis")))


def write_reverse_sequence(op: OpView) -> Expression | None:
    """Writes a reversal of the first elements of each sequence."""
    axes = {"seq_axis": op.attribute("seq_dim"), "batch_axis": op.attribute("batch_dim")}
    return call("tf.reverse_sequence", *op.arguments(), **axes)


def write_reverse(op: OpView) -> Expression | None:
    """Writes a reversal of whole axes."""
    axes = op.constant(1)
    return None if axes is None else call("tf.reverse", op.argument(0), [int(axis) for axis in axes])


def write_one_hot(op: OpView) -> Expression | None:
    """Writes one-hot vectors; their depth may be computed, as the number of an example's words."""
    depth, on, off = op.constant(1), op.constant(2), op.constant(3)
    if on is None or off is None:
        return None
    usual = float(on) == 1.0 and float(off) == 0.0
    dtype = op.operation.outputs[0].dtype.name
    values = {} if usual else {"on_value": on[()], "off_value": off[()]}
    axis = op.attribute("axis")
    return call(
        "tf.one_hot",
        op.argument(0),
        op.argument(1) if depth is None else int(depth),
        **values,
        axis=axis if axis != -1 else OMIT,
        dtype=Name("tf." + dtype) if dtype != "float32" or not usual else OMIT,
    )


def write_pad(op: OpView) -> Expression | None:
    """Writes a padding."""
    paddings = op.constant(1)
    if paddings is None:
        return None
    mode = op.attribute("mode") if op.type == "MirrorPad" else OMIT
    value = op.argument(2) if op.type == "PadV2" else OMIT
    return (
        call("tf.pad", op.argument(0), paddings.tolist(), mode, constant_values=value)
        if mode is not OMIT
        else call("tf.pad", op.argument(0), paddings.tolist(), constant_values=value)
    )


def write_tile(op: OpView) -> Expression | None:
    """Writes a repetition along each axis."""
    multiples = op.constant(1)
    if multiples is not None:
        return call("tf.tile", op.argument(0), [int(number) for number in multiples])
    return call("tf.tile", op.argument(0), op.argument(1))


def write_fill(op: OpView) -> Expression | None:
    """Writes a tensor of one value, whose first dimension may be the batch."""
    shape = op.output_sizes()
    value = op.constant(1)
    if shape is not None and value is not None and value.dtype == np.float32 and float(value) in (0.0, 1.0):
        return call("tf.ones" if float(value) else "tf.zeros", shape)
    number = op.argument(1)
    if isinstance(number, Literal) and op.dtype(1) not in (*USUAL, "bool"):  # a plain number would have another type
        number = call("tf.constant", number, Name("tf." + op.dtype(1)))
    return call("tf.fill", op.argument(0) if shape is None else shape, number)


def write_range(op: OpView) -> Expression | None:
    """Writes consecutive numbers, with a dtype that limits which are plain numbers would not have."""
    start, step = op.constant(0), op.constant(2)
    dtype = op.operation.outputs[0].dtype.name
    given = OMIT if dtype in ("int32", "float32") else Name("tf." + dtype)
    if start is None or step is None or int(start) or int(step) != 1:
        return call("tf.range", *op.arguments(), dtype=given)
    return call("tf.range", op.argument(1), dtype=given)


def write_shape(op: OpView) -> Expression | None:
    """Writes the shape of a tensor, or the number of its elements, where it is not known."""
    dtype = op.operation.outputs[0].dtype.name
    function = "tf.shape" if op.type == "Shape" else "tf.size"
    return call(function, op.argument(0), out_type=OMIT if dtype == "int32" else Name("tf." + dtype))


def write_unique(op: OpView) -> Expression | None:
    """Writes the different entries of a vector, and the place of each entry among them."""
    return call("tf.unique", op.argument(0)) if op.operation.outputs[1].dtype.name == "int32" else None


def write_broadcast(op: OpView) -> Expression | None:
    """Writes a broadcast to a shape."""
    shape = op.output_sizes()
    return None if shape is None else call("tf.broadcast_to", op.argument(0), shape)


def write_table(op: OpView) -> Expression | None:
    """Writes a constant that is too large to be listed: one number, a range, a band, few blocks, or a file's table."""
    value = tf.make_ndarray(op.operation.get_attr("value"))
    if value.size and (value == value.flat[0]).all():
        return op.constant_of(op.output, value)
    if value.dtype.kind not in "fiub":
        return None
    if value.dtype.kind in "fi":
        known = range_expression(value) or band_expression(value) or block_expression(value)
        known = known or sinusoids_expression(value)
        if known is not None:
            return known
    return call("tf.constant", Item(Name(TABLES), f'"{op.operation.name}"'))


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    "BroadcastTo": write_broadcast,
    "Concat": write_concat,
    "Const": write_table,
    "ConcatV2": write_concat,
    "ExpandDims": write_expand,
    "Fill": write_fill,
    "MirrorPad": write_pad,
    "OneHot": write_one_hot,
    "Pack": write_stack,
    "Pad": write_pad,
    "PadV2": write_pad,
    "Range": write_range,
    "Reshape": write_reshape,
    "ReverseSequence": write_reverse_sequence,
    "ReverseV2": write_reverse,
    "Split": write_split,
    "Shape": write_shape,
    "Size": write_shape,
    "SplitV": write_split,
    "Squeeze": write_squeeze,
    "Tile": write_tile,
    "Transpose": write_transpose,
    "Where": lambda op: call("tf.where", op.argument(0)),
    "Unique": write_unique,
    "Unpack": write_unstack,
    "UnsortedSegmentSum": lambda op: call("tf.math.unsorted_segment_sum", *op.arguments()),
}
