"""Idioms of ops that change nothing: neutral numbers, copies, and reshapes to the shape that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import call
from legacy.source.basics.match import Match
from legacy.source.ops.slices import takes_all

if TYPE_CHECKING:
    from legacy.source.ops.view import OpView


#: Ops whose results are never -0.0.
_NEVER_NEGATIVE = ("Square", "L2Loss", "Exp")


def is_filled(value: Optional[np.ndarray], number: float) -> bool:
    """Returns whether a constant is known and consists of `number` only."""
    return value is not None and value.size > 0 and bool((value == number).all())


def match_neutral(op: OpView) -> Optional[Match]:
    """Matches `x * 1`, `x / 1`, `x - 0`, `x & True`, `x | False`, and `x + 0` where x is never -0.0: no bit changes.

    Those stay without which the parts of a gradient would be added in another order.
    """
    neutral = 1.0 if op.type in ("Mul", "RealDiv", "Div", "LogicalAnd") else 0.0
    positions = (0, 1) if op.type in ("Mul", "LogicalAnd", "LogicalOr") + op_types.SUMS_OF_TWO else (0,)
    for position in positions:
        other = 1 - position
        same_shape = op.shape(position) is not None and op.shape(position) == op.output_shape()
        same_shape = same_shape or op.shape(other) == []
        if same_shape and is_filled(op.value(other), neutral) and op.value(position) is None:
            if op.type in op_types.SUMS_OF_TWO and not _never_minus_zero(op.producer(position)):
                continue
            return None if op.orders_gradients(position) else _left_out(op, position)
    return None


def _never_minus_zero(op: OpView) -> bool:
    """Returns whether an op gives no -0.0, which + 0.0 would change: squares, random numbers, and their multiples."""
    if op.type == "Mul":
        for position in (0, 1):
            factor = op.value(1 - position)
            if factor is not None and factor.size > 0 and (factor > 0).all():
                return _never_minus_zero(op.producer(position))
    return op.type in _NEVER_NEGATIVE or op.is_noise


def match_copy(op: OpView) -> Optional[Match]:
    """Matches ops that hand their input on; those stay that group the parts of a gradient."""
    return _left_out(op)


def _left_out(op: OpView, position: int = 0) -> Match:
    """Returns an input in place of an op that changes nothing, or a copy where that groups the parts of a gradient."""
    if op.groups_gradients(position):
        return Match((op.output,), call("tf.identity", op.argument(position)))
    return Match((), None, op.tensor(position))


def match_single(op: OpView) -> Optional[Match]:
    """Matches sums and joins of a single tensor."""
    inputs = len(op.operation.inputs)
    return Match((), None, op.tensor(0)) if inputs == 1 else None


def match_empty_reduction(op: OpView) -> Optional[Match]:
    """Matches a reduction over no axes, or of a scalar.

    It is a copy where the parts of a gradient would be added in another order without it.
    """
    axes = op.constant(1)
    nothing = axes is not None and axes.size == 0 or op.shape(0) == []
    if nothing and op.orders_gradients(0):
        return Match((op.output,), call("tf.identity", op.argument(0)))
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
    return _left_out(op) if unchanged and not op.orders_gradients(0) else None


def match_whole_slice(op: OpView) -> Optional[Match]:
    """Matches a slice that takes all of its tensor, where no gradient's parts are added in another order without it."""
    return _left_out(op) if takes_all(op) and not op.orders_gradients(0) else None


def match_opposite_transpositions(op: OpView) -> Optional[Match]:
    """Matches a transposition that undoes one before it, directly or around a rectifier, as other layouts have them."""
    order, before = op.constant(1), op.producer(0)
    rectified = before.type == "Relu" and before.uses() == 1
    first = before.producer(0) if rectified else before
    undone = first.constant(1) if first.type == "Transpose" else None
    if order is None or undone is None or not np.array_equal(undone[order], np.arange(order.size)):
        return None
    return Match((op.output,), call("tf.nn.relu", first.argument(0))) if rectified else Match((), None, first.tensor(0))
