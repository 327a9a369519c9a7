"""Idioms: groups of ops that one expression of TensorFlow 2 builds again op by op, so that the bits stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import OMIT, Infix, Listing, call
from legacy.source.basics.match import Match
from legacy.source.idioms.block_cells import BLOCK_CELL, match_lstm_block_cell
from legacy.source.idioms.cells import match_gru_cell, match_lstm_cell
from legacy.source.idioms.dropout import match_dropout
from legacy.source.idioms.neutral import (
    is_filled,
    match_copy,
    match_empty_reduction,
    match_neutral,
    match_opposite_transpositions,
    match_same_reshape,
    match_single,
    match_whole_slice,
)
from legacy.source.idioms.normalization import (
    match_batch_normalization,
    match_clip_by_inverse_norm,
    match_clip_by_norm,
    match_l2_normalize,
    match_moments,
    match_norm,
)
from legacy.source.idioms.softmax import match_cross_entropy, match_softmax, match_sparse_cross_entropy
from legacy.source.ops.constants import is_counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.ops.view import OpView


def match_clip(op: OpView) -> Optional[Match]:
    """Matches `maximum(minimum(x, high), low)` as `tf.clip_by_value`, which makes the same ops."""
    inner = op.producer(0)
    if inner.type != "Minimum" or inner.uses() > 1 or not all(_is_bound(one) for one in (op, inner)):
        return None
    if inner.shape(0) is None or inner.shape(0) != op.output_shape():
        return None
    return Match((op.output,), call("tf.clip_by_value", inner.argument(0), op.argument(1), inner.argument(1)))


def _is_bound(op: OpView) -> bool:
    """Returns whether the second input of an op is a constant, or one number, as of a range that was fed."""
    return op.constant(1) is not None or op.shape(1) == []


def match_log_sigmoid(op: OpView) -> Optional[Match]:
    """Matches `-softplus(-x)` as `tf.math.log_sigmoid`, which makes the same ops."""
    softplus = op.producer(0)
    if softplus.type != "Softplus" or softplus.uses() > 1 or softplus.has_old_derivative:
        return None
    minus = softplus.producer(0)
    if minus.type != "Neg" or minus.uses() > 1:
        return None
    return Match((op.output,), call("tf.math.log_sigmoid", minus.argument(0)))


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
    if op.type == "Fill":  # as zeros_like makes them of a known shape
        return op.constant(1) == 0
    return op.type == "ZerosLike"


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


def match_open_tensordot(op: OpView) -> Optional[Match]:
    """Matches `tensordot` over the last dimension of a tensor whose sizes are known when it runs, such as of a loop."""
    product, sizes = op.producer(0), op.producer(1)
    if product.type != "MatMul" or product.attribute("transpose_a") or product.attribute("transpose_b"):
        return None
    rows = product.producer(0)
    if rows.type != "Reshape" or sizes.type != "ConcatV2" or rows.producer(1).type != "Pack":
        return None
    counts = [rows.producer(1).producer(number) for number in range(len(rows.producer(1).operation.inputs))]
    if [count.type for count in counts] != ["Prod", "Prod"]:
        return None
    free, last = (count.producer(0) for count in counts)
    if not _gathers_sizes(free, rows.tensor(0)) or not _gathers_sizes(last, rows.tensor(0)):
        return None
    kept, summed, weights, added = free.constant(1), last.constant(1), product.shape(1), sizes.constant(1)
    if kept is None or summed is None or weights is None or added is None or len(sizes.operation.inputs) != 3:
        return None
    is_last = kept.tolist() == list(range(kept.size)) and summed.tolist() == [kept.size]
    if not is_last or sizes.tensor(0) != free.output or added.tolist() != weights[1:]:
        return None
    return Match((op.output,), call("tf.tensordot", rows.argument(0), product.argument(1), 1))


def _gathers_sizes(op: OpView, tensor: str) -> bool:
    """Returns whether an op takes entries of a tensor's shape."""
    return op.type in op_types.GATHERS and op.producer(0).type == "Shape" and op.producer(0).tensor(0) == tensor


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
    "Div": [match_clip_by_norm, match_neutral],
    "DivNoNan": [match_safe_division],
    "Identity": [match_copy],
    BLOCK_CELL: [match_lstm_block_cell],
    "Less": [match_sequence_mask],
    "LogicalAnd": [match_neutral],
    "LogicalOr": [match_neutral],
    "Max": [match_empty_reduction],
    "Maximum": [match_clip],
    "Mean": [match_empty_reduction, match_moments],
    "MirrorPad": [match_same_reshape],
    "Mul": [match_lstm_cell, match_dropout, match_l2_normalize, match_clip_by_inverse_norm, match_neutral],
    "Neg": [match_log_sigmoid],
    "Pad": [match_same_reshape],
    "PadV2": [match_same_reshape],
    "PlaceholderWithDefault": [match_copy],
    "Print": [match_copy],
    "RealDiv": [match_clip_by_norm, match_neutral],
    "Reshape": [
        match_cross_entropy,
        match_sparse_cross_entropy,
        match_same_reshape,
        match_softmax,
        match_tensordot,
        match_open_tensordot,
    ],
    "Snapshot": [match_copy],
    "Squeeze": [match_moments, match_norm, match_same_reshape],
    "StridedSlice": [match_whole_slice],
    "Sub": [match_neutral],
    "Sum": [match_empty_reduction],
    "Tile": [match_same_reshape],
    "Transpose": [match_same_reshape, match_opposite_transpositions],
}
