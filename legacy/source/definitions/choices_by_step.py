"""Choices of constants by the step, such as `tf.train.piecewise_constant` in a branch of a `cond`."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence

import numpy as np
import tensorflow as tf

from legacy.source.basics.branches import OF_BRANCHES
from legacy.source.basics.expressions import Definition, Expression, Infix, Literal, call

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from legacy.source.basics.forward import Forward
    from legacy.source.definitions.recovery import Recovery

v1 = tf.compat.v1
#: Type of the op that a choice is.
_CHOICE = "SelectV2"


class Pieces(NamedTuple):
    """A constant for each range of steps.

    Attributes:
      boundaries: the last step of each range but the last one.
      rates: the constants, one more than boundaries.
    """

    boundaries: Sequence[int]
    rates: Sequence[np.float32]


def pieces_of(
    boundaries: Collection[int], evaluated: Callable[[Sequence[int]], Sequence[np.float32]]
) -> Optional[Pieces]:
    """Returns the pieces that a function of the step consists of; None if it changes elsewhere, or never.

    Args:
      boundaries: whole numbers at which it may change.
      evaluated: function from steps to the function's values.

    Returns:
      The pieces.
    """
    probes = sorted({max(0, boundary + d) for boundary in boundaries for d in (-1, 0, 1)} | {0})
    values = dict(zip(probes, evaluated(probes)))
    kept: List[int] = []
    for boundary in sorted(boundaries):
        if boundary + 1 in values and values[boundary] != values[boundary + 1]:
            kept.append(boundary)
    rates = tuple(values[b] for b in kept) + ((values[kept[-1] + 1],) if kept else ())
    expected = [rates[sum(step > boundary for boundary in kept)] if kept else values[0] for step in probes]
    return Pieces(tuple(kept), rates) if kept and [values[step] for step in probes] == expected else None


def write_pieces(recovery: Recovery, forward: Forward, step: Expression, boundaries: Collection[int]) -> None:
    """Redefines the choices that are made of constants alone: each range of steps has one condition.

    Args:
      recovery: of a function of the step.
      forward: its forward pass.
      step: the step, in the text.
      boundaries: the whole numbers among the constants.
    """
    graph = forward.typed.graph
    holders = [graph.get_tensor_by_name(feed.placeholder + ":0") for feed in forward.cut.piece.feeds]
    choices = [op for op in forward.typed.operations() if op.type == _CHOICE and OF_BRANCHES in op.node_def.attr]
    for op in choices:
        if any(_is_choice(_source(tensor)) for tensor in op.inputs[1:]) and _chooses_constants(op.outputs[0]):

            def evaluated(steps: Sequence[int], result: tf.Tensor = op.outputs[0]) -> List[np.float32]:
                with v1.Session(graph=graph) as session:
                    return [session.run(result, {holder: number for holder in holders}) for number in steps]

            pieces = pieces_of(boundaries, evaluated)
            if pieces is not None:
                name = op.outputs[0].name
                recovery.redefine(name, Definition((name,), _as_choices(step, pieces)))


def _as_choices(step: Expression, pieces: Pieces) -> Expression:
    *others, last = pieces.rates
    made: Expression = Literal(last)
    for boundary, rate in reversed(list(zip(pieces.boundaries, others))):
        made = call("tf.where", Infix("<=", step, Literal(boundary)), Literal(rate), made)
    return made


def _chooses_constants(tensor: tf.Tensor) -> bool:
    """Returns whether a tensor is a constant, or a choice of such."""
    op = _source(tensor)
    return op.type == "Const" or (_is_choice(op) and all(_chooses_constants(given) for given in op.inputs[1:]))


def _is_choice(op: tf.Operation) -> bool:
    return bool(op.type == _CHOICE)


def _source(tensor: tf.Tensor) -> tf.Operation:
    """Returns the op that a tensor is a copy of a result of."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor.op
