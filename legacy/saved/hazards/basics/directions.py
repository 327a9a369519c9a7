"""The direction of updates: gradients that an update op takes, and what is minimized or maximized by them."""

from __future__ import annotations

import functools

from legacy.saved.analysis.effects import GRADIENTS
from legacy.saved.analysis.losses import differentiations
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from workloads.lifted.graph.old_ops import registered_op

_ADDS, _SUBTRACTS = ("Assign", "AssignVariableOp", *op_types.ADDS), ("AssignSub", "AssignSubVariableOp")


def applied_gradient(whole: WholeGraph, apply: str) -> str:
    """Returns the node whose result an update op takes for the gradient; "" if its op definition names none."""
    definition = registered_op(whole.graph.type(apply))
    arguments = [argument.name for argument in definition.input_arg] if definition is not None else []
    places = [place for place, argument in enumerate(arguments) if argument in GRADIENTS]
    return whole.graph.inputs(apply)[places[0]].node if places else ""


@functools.lru_cache(maxsize=2)
def minimized_targets(whole: WholeGraph) -> list[str]:
    """Returns those of `whole.targets` that updates follow down; others are maximized, by adding their gradients.

    Where the step of an update is the same linear function of a gradient for all variables, its sign tells.
    """
    starts = differentiations(whole.graph, whole.reach)
    raised: set[str] = set()
    for apply in whole.applies:
        for name in _followed_up(whole, apply):
            raised |= whole.graph.ancestors([name], controls=False) & set(starts)
    maximized = {target for root in raised for target in starts[root]}
    return [target for target in whole.targets if target not in maximized]


def _followed_up(whole: WholeGraph, apply: str) -> list[str]:
    """Nodes computed from gradients that an update adds to its variable with a positive weight."""
    kind = whole.graph.type(apply)
    is_rule = op_types.is_apply(kind)
    if not is_rule and kind not in _ADDS + _SUBTRACTS:
        return []
    change = applied_gradient(whole, apply) if is_rule else whole.graph.inputs(apply)[1].node
    sign = 1 if kind in _ADDS and not is_rule else -1
    weights = linear_weights(whole, change) if change else {}
    variable = whole.variable_of(apply)
    up = [name for name, weight in weights.items() if weight * sign > 0 and name != variable]
    return [name for name in up if not any(linear_inputs(whole, name)) and whole.graph.type(name) != "ReadVariableOp"]
