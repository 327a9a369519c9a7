"""Updates written with plain assignments: what a counter rises by, and the learning rate of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name

if TYPE_CHECKING:
    from legacy.saved.analysis.context import Context
    from workloads.lifted.plan import Effect

ASSIGNS = ("Assign", "AssignVariableOp")
SUBTRACTS = ("AssignSub", "AssignSubVariableOp")


def addend(context: Context, effect: Effect) -> float | None:
    """Returns the constant that an update adds to a variable, by `assign_add` or `assign(v, v + 1)`; None for others.

    Args:
      context: of the cut graph.
      effect: the update.
    """
    if not effect.values:
        return None
    value = parse_tensor_name(effect.values[0])
    if effect.op in op_types.ADDS:
        return scalar(context, value)
    if effect.op not in ASSIGNS or context.graph.type(value.node) not in ("Add", "AddV2"):
        return None
    terms = context.graph.inputs(value.node)
    own = [_is_value(context, term, effect.writes[0]) for term in terms]
    return scalar(context, terms[own.index(False)]) if sorted(own) == [False, True] else None


def learning_rate(context: Context, effect: Effect) -> str | None:
    """Returns the scalar that multiplies an update: lr in `assign(v, v - lr * m / sqrt(s))`.

    A scalar that is computed from gradients, as of clipping by their norm, is none, and what it multiplies is searched.

    Likewise where rows are subtracted, as TensorFlow's gradient descent subtracts those of an embedding.

    Args:
      context: of the cut graph.
      effect: an assignment that trains.

    Returns:
      The tensor's name; None where the update is of another form.
    """
    step = parse_tensor_name(effect.values[0])
    if "ScatterSub" in effect.op:
        step = context.graph.inputs(effect.node)[2]  # behind the variable and the indices
    elif effect.op in ASSIGNS:
        terms = context.graph.inputs(step.node)
        if context.graph.type(step.node) != "Sub" or not _is_value(context, terms[0], effect.writes[0]):
            return None
        step = terms[1]
    elif effect.op not in SUBTRACTS:
        return None
    while True:
        kind, inputs = context.graph.type(step.node), context.graph.inputs(step.node)
        scalars = [factor for factor in inputs if context.imported.shape(*factor) == ()] if kind == "Mul" else []
        rates = [factor.name for factor in scalars if factor.node not in context.of_gradients]
        others = [factor for factor in inputs if factor not in scalars]
        fed = [factor.name for factor in inputs if context.graph.type(factor.node).startswith("Placeholder")]
        if rates or (kind == "Mul" and fed and not scalars):
            return (rates or fed)[0]
        if kind in ("Identity", "RealDiv", "Div"):
            step = inputs[0]
        elif scalars and len(others) == 1:
            step = others[0]
        else:
            return None


def scalar(context: Context, tensor: TensorId) -> float | None:
    """Returns a tensor's value if that is one constant number, or None."""
    constant = context.imported.constant(*tensor)
    return float(constant) if constant is not None and np.ndim(constant) == 0 else None


def _is_value(context: Context, tensor: TensorId, variable: str) -> bool:
    """Returns whether a tensor is a variable's value."""
    if context.graph.type(tensor.node) == "ReadVariableOp":
        tensor = context.graph.inputs(tensor.node)[0]
    return context.state.aliases.get(tensor) == variable
