"""Idioms of a softmax along the last dimension, until 1.13 one of rows between two reshapes, and of its cross-entropy.

The functions of the cross-entropy reshape their operands to rows, and the result back, in all releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from legacy.source.basics.expressions import call
from legacy.source.basics.match import Match
from legacy.source.ops.gradient_order import orders_gradients

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

_FUNCTIONS = {"Softmax": "tf.nn.softmax", "LogSoftmax": "tf.nn.log_softmax"}
#: The same where the gradient of what is behind comes as late as that of the old reshapes, and of the sizes for which
#: `tf.gradients` waited: a concatenation, a slice and a shape.
_LATE = {"Softmax": "late_softmax", "LogSoftmax": "late_log_softmax"}
_REPLACED = 5
#: {function: its text}.
FUNCTIONS = {
    name: [
        f"def {name}(x):",
        f'    """Returns `{_FUNCTIONS[kind]}(x)`; its gradient takes as many ops as in 1.4, which waited for sizes."""',
        f"    for _ in range({_REPLACED}):",
        "        x = tf.identity(x)",
        f"    return {_FUNCTIONS[kind]}(x)",
    ]
    for kind, name in _LATE.items()
}


def match_softmax(op: OpView) -> Optional[Match]:
    """Matches a reshape back to the shape of what was reshaped to rows, of whose rows it is the softmax."""
    rows = op.producer(0)
    if rows.type not in _FUNCTIONS or rows.uses() != 1:
        return None
    flat = rows.producer(0)
    if flat.type != "Reshape" or not _keeps_last(flat) or not _restores(op, flat):
        return None
    if orders_gradients(op.operation, 0) or orders_gradients(flat.operation, 0):
        return Match((op.output,), call(_LATE[rows.type], flat.argument(0))) if flat.is_waited_for else None
    return Match((op.output,), call(_FUNCTIONS[rows.type], flat.argument(0)))


def _keeps_last(flat: OpView) -> bool:
    """Returns whether a reshape to a matrix has rows that are the last dimension of its tensor."""
    before, after = flat.shape(0), flat.output_shape()
    if before and after:
        return len(after) == 2 and before[-1] == after[-1]
    target = flat.producer(1)
    if target.type != "ConcatV2" or len(target.operation.inputs) != 3:
        return False
    first, last = target.value(0), target.producer(1)
    return first is not None and list(first) == [-1] and last.type == "Slice" and _is_shape_of(last.producer(0), flat)


def _keeps_entry(flat: OpView, position: int) -> bool:
    """Returns whether a reshape to a matrix has rows of the size that is entry `position` of its tensor's shape."""
    target = flat.producer(1)
    if target.type != "Pack" or len(target.operation.inputs) != 2 or target.constant(0) != -1:
        return False
    entry = target.producer(1)
    begin = entry.constant(1) if entry.type == "StridedSlice" else None
    return begin is not None and begin.tolist() == [position] and _is_shape_of(entry.producer(0), flat)


def _restores(op: OpView, flat: OpView) -> bool:
    """Returns whether a reshape gives back the shape that was there before another one."""
    before, after = flat.shape(0), op.output_shape()
    return before == after if before and after else _is_shape_of(op.producer(1), flat)


def _is_shape_of(op: OpView, flat: OpView) -> bool:
    """Returns whether an op gives the shape of what another one reshapes."""
    return op.type == "Shape" and op.tensor(0) == flat.tensor(0)


def match_cross_entropy(op: OpView) -> Optional[Match]:
    """Matches the cross-entropy of distributions, with the reshapes that `tf.nn.softmax_cross_entropy...` makes."""
    cost = op.producer(0)
    if cost.type != "SoftmaxCrossEntropyWithLogits" or cost.uses() != 1:
        return None
    flat = cost.producer(0)
    if flat.type != "Reshape":
        return None
    scope = cost.operation.name + "/"  # of the ops that the function made, whose shapes may not be known
    named = all(one.operation.name.startswith(scope) for one in (op, flat))
    if not (_keeps_last(flat) and _restores_all_but_last(op, flat)) and (flat.shape(0) or not named):
        return None
    result, rows = op.output_shape(), flat.output_shape() or cost.shape(1)
    labels = _labels(cost, [*result, rows[-1]]) if result is not None and rows else None
    if labels is None:
        return None
    found = call("tf.nn.softmax_cross_entropy_with_logits", labels=labels, logits=flat.argument(0))
    return Match((op.output,), found)


def match_sparse_cross_entropy(op: OpView) -> Optional[Match]:
    """Matches the cross-entropy with class numbers of more than one dimension, with the reshapes that it makes."""
    cost = op.producer(0)
    if cost.type != "SparseSoftmaxCrossEntropyWithLogits" or cost.uses() != 1:
        return None
    flat, result = cost.producer(0), op.output_shape()
    if flat.type != "Reshape" or result is None or len(result) < 2:
        return None
    before = flat.shape(0)
    if not (_keeps_last(flat) and before[:-1] == result if before else _keeps_entry(flat, len(result))):
        return None
    labels = _labels(cost, result)
    if labels is None:
        return None
    found = call("tf.nn.sparse_softmax_cross_entropy_with_logits", labels=labels, logits=flat.argument(0))
    return Match((op.output,), found)


def _restores_all_but_last(op: OpView, flat: OpView) -> bool:
    """Returns whether a reshape gives the shape that was there before another one, without its last dimension."""
    before, after = flat.shape(0), op.output_shape()
    if before and after:
        return before[:-1] == after
    part = op.producer(1)
    return part.type == "Slice" and _is_shape_of(part.producer(0), flat)


def _labels(cost: OpView, shape: List[int]) -> Optional[Expression]:
    """Returns the labels of a cross-entropy before they are reshaped to rows; None if they have another shape.

    Args:
      cost: the cross-entropy of rows.
      shape: of the labels.

    Returns:
      The labels.
    """
    rows = cost.producer(1)
    if rows.type == "Reshape" and rows.shape(0) == shape:
        return rows.argument(0)
    stopped = rows.producer(0) if rows.type == "StopGradient" else rows
    if stopped.type == "Reshape" and stopped.shape(0) == shape:
        return call("tf.stop_gradient", stopped.argument(0))
    return cost.argument(1) if cost.shape(1) == shape else None
