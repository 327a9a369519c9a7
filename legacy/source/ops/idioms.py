"""Idioms: groups of ops that one expression of TensorFlow 2 builds again op by op, so that the bits stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional

import numpy as np
import tensorflow as tf

from legacy.source.basics.expressions import OMIT, Expression, Infix, Listing, Literal, call
from legacy.source.ops.cells import match_gru_cell, match_lstm_block_cell, match_lstm_cell
from legacy.source.ops.constants import is_counted
from legacy.source.ops.dropout import match_dropout
from legacy.source.ops.match import Match
from legacy.source.ops.slices import takes_all
from legacy.source.ops.softmax import match_softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.ops.view import OpView

_ADD = ("Add", "AddV2")


def is_filled(value: Optional[np.ndarray], number: float) -> bool:
    """Returns whether a constant is known and consists of `number` only."""
    return value is not None and value.size > 0 and bool((value == number).all())


def match_neutral(op: OpView) -> Optional[Match]:
    """Matches `x * 1`, `x / 1`, `x - 0`, and `x + 0` for random numbers, which change no bit of x.

    Those stay without which the parts of a gradient would be added in another order.
    """
    neutral = 1.0 if op.type in ("Mul", "RealDiv", "Div") else 0.0
    positions = (0, 1) if op.type in ("Mul",) + _ADD else (0,)
    for position in positions:
        other = 1 - position
        same_shape = op.shape(position) is not None and op.shape(position) == op.output_shape()
        same_shape = same_shape or op.shape(other) == []
        if same_shape and is_filled(op.value(other), neutral) and op.value(position) is None:
            if op.type in _ADD and not _never_minus_zero(op.producer(position)):
                continue
            return None if op.orders_gradients(position) else Match((), None, op.tensor(position))
    return None


def _never_minus_zero(op: OpView) -> bool:
    """Returns whether an op gives no -0.0, which + 0.0 would change: random numbers and squares do not."""
    return op.type in (
        "Placeholder",
        "RandomUniform",
        "Square",
        "L2Loss",
        "Relu",
        "Exp",
    ) and op.operation.name.startswith("feed_")


def match_clip(op: OpView) -> Optional[Match]:
    """Matches `maximum(minimum(x, high), low)` as `tf.clip_by_value`, which makes the same ops."""
    inner = op.producer(0)
    if inner.type != "Minimum" or inner.uses() > 1 or inner.constant(1) is None or op.constant(1) is None:
        return None
    if inner.shape(0) is None or inner.shape(0) != op.output_shape():
        return None
    return Match((op.output,), call("tf.clip_by_value", inner.argument(0), op.argument(1), inner.argument(1)))


def match_sequence_mask(op: OpView) -> Optional[Match]:
    """Matches `range(n) < expand_dims(lengths, -1)` as `tf.sequence_mask`, which makes the same ops."""
    positions, lengths = op.constant(0), op.producer(1)
    lengths = lengths.producer(0) if lengths.type == "Cast" else lengths
    if positions is None or not is_counted(positions) or lengths.type != "ExpandDims":
        return None
    axis = lengths.constant(1)
    if axis is None or int(axis) != -1 or lengths.constant(0) is not None:
        return None
    return Match((op.output,), call("tf.sequence_mask", lengths.argument(0), positions.size))


def match_safe_division(op: OpView) -> Optional[Match]:
    """Matches a division by a known number other than 0, written as division without a guard."""
    if np.all(op.value(1) if op.value(1) is not None else 0):
        return Match((op.output,), Infix("/", op.argument(0), op.argument(1)))
    return None


def match_batch_normalization(op: OpView) -> Optional[Match]:
    """Matches `x * m + (beta - mean * m)` with `m = rsqrt(variance + epsilon) * gamma`: batch normalization."""
    product, offset = op.producer(0), op.producer(1)
    if product.type != "Mul" or offset.type != "Sub" or offset.producer(1).type != "Mul":
        return None
    shifted = offset.producer(1)
    if product.tensor(1) != shifted.tensor(1):
        return None
    factor = product.producer(1)
    scale: Expression = Literal(None)
    root = factor
    if factor.type == "Mul":
        root, scale = factor.producer(0), factor.argument(1)
    if root.type != "Rsqrt" or root.producer(0).type not in _ADD:
        return None
    variance = root.producer(0)
    if variance.constant(1) is None:
        return None
    expression = call(
        "tf.nn.batch_normalization",
        product.argument(0),
        shifted.argument(0),
        variance.argument(0),
        offset.argument(0),
        scale,
        variance.argument(1),
    )
    return Match((op.output,), expression)


def match_sigmoid_cross_entropy(op: OpView) -> Optional[Match]:
    """Matches `max(x, 0) - x * z + log(1 + exp(-|x|))`, with the choices by sign that TensorFlow makes of it."""
    difference, log = op.producer(0), op.producer(1)
    if difference.type != "Sub" or log.type != "Log1p" or log.producer(0).type != "Exp":
        return None
    positive, product, negative = difference.producer(0), difference.producer(1), log.producer(0).producer(0)
    if (positive.type, product.type, negative.type) != ("Select", "Mul", "Select"):
        return None
    logits = product.tensor(0)
    minus = negative.producer(1)
    signs = positive.producer(0)
    chosen = (positive.tensor(1), negative.tensor(2), minus.tensor(0) if minus.type == "Neg" else "")
    same = chosen == (logits,) * 3 and positive.tensor(0) == negative.tensor(0)
    if not same or signs.type != "GreaterEqual" or signs.tensor(0) != logits:
        return None
    if positive.tensor(2) != signs.tensor(1) or not _is_zeros(signs.producer(1)):
        return None
    expression = call("tf.nn.sigmoid_cross_entropy_with_logits", labels=product.argument(1), logits=product.argument(0))
    return Match((op.output,), expression)


def _is_zeros(op: OpView) -> bool:
    """Returns whether an op's result consists of zeros, whatever its size."""
    if op.type == "Const":
        return is_filled(tf.make_ndarray(op.operation.get_attr("value")), 0.0)
    return op.type == "ZerosLike"


def match_moments(op: OpView) -> Optional[Match]:
    """Matches mean and variance over the same axes: `tf.nn.moments`, with its squeezes where they are there."""
    variance = op.producer(0) if op.type == "Squeeze" else op
    if variance.type != "Mean" or variance.producer(0).type != "SquaredDifference":
        return None
    difference = variance.producer(0)
    mean = _behind_stop(difference, 1)
    axes = variance.constant(1)
    if mean is None or mean.type != "Mean" or axes is None:
        return None
    others = mean.constant(1)
    if mean.tensor(0) != difference.tensor(0) or others is None or not np.array_equal(axes, others):
        return None
    if not variance.attribute("keep_dims") or not mean.attribute("keep_dims"):
        return None
    keep = op.type != "Squeeze"
    mean_output = mean.output if keep else _squeezed(mean, op)
    if mean_output is None:
        return None
    over = [int(axis) for axis in np.atleast_1d(axes)]
    expression = call("tf.nn.moments", difference.argument(0), over, keepdims=True if keep else OMIT)
    return Match((mean_output, op.output), expression)


def _behind_stop(op: OpView, position: int) -> Optional[OpView]:
    """Returns the producer of an input behind a StopGradient; None if there is no StopGradient."""
    stop = op.producer(position)
    return stop.producer(0) if stop.type == "StopGradient" else None


def _squeezed(mean: OpView, like: OpView) -> Optional[str]:
    """Returns the tensor that is the mean squeezed as the variance is, if the graph has one."""
    for user in mean.operation.outputs[0].consumers():
        same = user.type == "Squeeze" and list(user.get_attr("squeeze_dims")) == like.attribute("squeeze_dims")
        if same:
            return str(user.outputs[0].name)
    return None


def match_copy(op: OpView) -> Optional[Match]:
    """Matches ops that hand their input on; those stay that group the parts of a gradient."""
    if op.groups_gradients():
        return Match((op.output,), call("tf.identity", op.argument(0)))
    return Match((), None, op.tensor(0))


def match_single(op: OpView) -> Optional[Match]:
    """Matches sums and joins of a single tensor."""
    inputs = len(op.operation.inputs)
    return Match((), None, op.tensor(0)) if inputs == 1 else None


def match_empty_reduction(op: OpView) -> Optional[Match]:
    """Matches a reduction over no axes, or of a scalar."""
    axes = op.constant(1)
    nothing = axes is not None and axes.size == 0 or op.shape(0) == []
    return Match((), None, op.tensor(0)) if nothing else None


def match_same_reshape(op: OpView) -> Optional[Match]:
    """Matches a reshape, broadcast, padding or tiling to the shape that the tensor has, and an idle transposition.

    Those stay without which the parts of a gradient would be added in another order.
    """
    before = op.shape(0)
    if op.type == "Transpose":
        order = op.constant(1)
        unchanged = order is not None and list(order) == sorted(order)
    else:
        unchanged = before is not None and before == op.output_shape()
    return Match((), None, op.tensor(0)) if unchanged and not op.orders_gradients(0) else None


def match_whole_slice(op: OpView) -> Optional[Match]:
    """Matches a slice that takes all of its tensor, where no gradient's parts are added in another order without it."""
    return Match((), None, op.tensor(0)) if takes_all(op) and not op.orders_gradients(0) else None


def match_opposite_transpositions(op: OpView) -> Optional[Match]:
    """Matches a transposition that undoes one before it, directly or around a rectifier, as other layouts have them."""
    order, before = op.constant(1), op.producer(0)
    rectified = before.type == "Relu" and before.uses() == 1
    first = before.producer(0) if rectified else before
    undone = first.constant(1) if first.type == "Transpose" else None
    if order is None or undone is None or not np.array_equal(undone[order], np.arange(order.size)):
        return None
    return Match((op.output,), call("tf.nn.relu", first.argument(0))) if rectified else Match((), None, first.tensor(0))


def match_tensordot(op: OpView) -> Optional[Match]:
    """Matches a product of two tensors reshaped to matrices, reshaped to the dimensions that are left: a tensordot."""
    product = op.producer(0)
    if product.type != "MatMul" or product.attribute("transpose_a") or product.attribute("transpose_b"):
        return None
    left, right = (product.producer(n) for n in (0, 1))
    if "Reshape" not in (left.type, right.type):
        return None
    ends = [(side, 0) if side.type == "Reshape" else (product, n) for n, side in enumerate((left, right))]
    one, two = (view.shape(position) for view, position in ends)
    inner, result = product.shape(0), op.output_shape()
    if one is None or two is None or inner is None or result is None:
        return None
    for axes in range(1, min(len(one), len(two)) + 1):
        shared = one[len(one) - axes :]
        if shared == two[:axes] and int(np.prod(shared)) == inner[1] and result == one[: len(one) - axes] + two[axes:]:
            return Match((op.output,), call("tf.tensordot", *(view.argument(n) for view, n in ends), axes))
    return None


def match_stack(op: OpView) -> Optional[Match]:
    """Matches `concat` of tensors with a new dimension each, along that dimension, as `tf.stack`."""
    count, first = len(op.operation.inputs) - 1, int(op.type == "Concat")  # which has the axis first
    axis, parts = op.constant(0 if first else count), [op.producer(first + number) for number in range(count)]
    if axis is None or any(part.type != "ExpandDims" or part.uses() > 1 for part in parts):
        return None
    places = [part.constant(1) for part in parts]
    if any(place is None or place.size != 1 or place.item() != axis.item() for place in places):
        return None
    if any(part.orders_gradients(0) for part in parts):
        return None
    listed = Listing(tuple(part.argument(0) for part in parts))
    return Match((op.output,), call("tf.stack", listed, axis=OMIT if axis.item() == 0 else int(axis.item())))


#: {op type: its idioms, in the order in which they are tried}.
IDIOMS: Dict[str, List[Callable[[OpView], Optional[Match]]]] = {
    "Add": [match_batch_normalization, match_sigmoid_cross_entropy, match_gru_cell, match_neutral],
    "AddN": [match_single],
    "AddV2": [match_batch_normalization, match_sigmoid_cross_entropy, match_gru_cell, match_neutral],
    "BroadcastTo": [match_same_reshape],
    "CheckNumerics": [match_copy],
    "Concat": [match_stack],
    "ConcatV2": [match_stack],
    "Div": [match_neutral],
    "DivNoNan": [match_safe_division],
    "Identity": [match_copy],
    "LSTMBlockCell": [match_lstm_block_cell],
    "Less": [match_sequence_mask],
    "Max": [match_empty_reduction],
    "Maximum": [match_clip],
    "Mean": [match_empty_reduction, match_moments],
    "MirrorPad": [match_same_reshape],
    "Mul": [match_lstm_cell, match_dropout, match_neutral],
    "Pad": [match_same_reshape],
    "PadV2": [match_same_reshape],
    "PlaceholderWithDefault": [match_copy],
    "Print": [match_copy],
    "RealDiv": [match_neutral],
    "Reshape": [match_same_reshape, match_softmax, match_tensordot],
    "Snapshot": [match_copy],
    "Squeeze": [match_moments, match_same_reshape],
    "StridedSlice": [match_whole_slice],
    "Sub": [match_neutral],
    "Sum": [match_empty_reduction],
    "Tile": [match_same_reshape],
    "Transpose": [match_same_reshape, match_opposite_transpositions],
}
