"""The direction of updates: gradients that an update op takes, and what is minimized or maximized by them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator

from legacy.saved.analysis.effects import GRADIENTS
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.hazards.basics.linear_weights import linear_inputs
from workloads.lifted.graph import TensorId
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Names of the learning rate in definitions of update ops.
_RATES = ("lr", "alpha")
_ADDS = (*op_types.SETS, *op_types.ADDS)


def applied_gradient(whole: WholeGraph, apply: str) -> str:
    """Returns the node whose result an update op takes for the gradient; "" if its op definition names none."""
    return next((tensor.node for tensor in _arguments(whole, apply, GRADIENTS)), "")


def applied_rate(whole: WholeGraph, apply: str) -> TensorId | None:
    """Returns the tensor that an update op takes for the learning rate; None if its op definition names none."""
    return next(_arguments(whole, apply, _RATES), None)


def _arguments(whole: WholeGraph, apply: str, names: Collection[str]) -> Iterator[TensorId]:
    """Yields the inputs of an update op that its op definition calls by one of some names."""
    definition = registered_op(whole.graph.type(apply))
    arguments = [argument.name for argument in definition.input_arg] if definition is not None else []
    yield from (tensor for tensor, name in zip(whole.graph.inputs(apply), arguments) if name in names)


@functools.lru_cache(maxsize=2)
def minimized_targets(whole: WholeGraph) -> list[str]:
    """Returns those of `whole.targets` that updates follow down; others are maximized, by adding their gradients.

    Where the step of an update is the same linear function of a gradient for all variables, its sign tells.
    """
    starts, bits, behind = _roots_behind(whole)
    raised = 0
    for apply in whole.applies:
        up, down = (functools.reduce(operator.or_, map(behind, names), 0) for names in _followed(whole, apply))
        raised |= up & ~down  # both have those of g - mean(g), which tells no direction
    maximized = {target for root, bit in bits.items() if raised & bit for target in starts[root]}
    return [target for target in whole.targets if target not in maximized]


@functools.lru_cache(maxsize=2)
def trained_by(whole: WholeGraph) -> dict[str, set[str]]:
    """Returns {node that is differentiated: the variables whose updates take its derivatives}."""
    starts, bits, behind = _roots_behind(whole)
    found: dict[str, set[str]] = {}
    for apply in whole.applies:
        change = applied_gradient(whole, apply) or whole.graph.inputs(apply)[-1].node
        for target in [target for root, bit in bits.items() if behind(change) & bit for target in starts[root]]:
            found.setdefault(target, set()).add(whole.variable_of(apply) or "")
    return found


@functools.lru_cache(maxsize=2)
def _roots_behind(whole: WholeGraph) -> tuple[dict[str, list[str]], dict[str, int], Callable[[str], int]]:
    """{root of a gradient graph: what it differentiates}, {root: its bit}, and a node's function to those behind it."""
    starts = differentiations(whole.graph, whole.reach)
    bits = {root: 1 << number for number, root in enumerate(starts)}
    arriving = whole.graph.flow(whole.graph.order(whole.reach), bits, controls=False)
    return starts, bits, lambda name: arriving.get(name, 0) | bits.get(name, 0)


def _followed(whole: WholeGraph, apply: str) -> tuple[list[str], list[str]]:
    """The gradients, or nodes computed from them, that an update adds to its variable, and those that it subtracts."""
    kind = whole.graph.type(apply)
    is_rule = op_types.is_apply(kind)
    if not is_rule and kind not in _ADDS + op_types.SUBTRACTS:
        return [], []
    change = applied_gradient(whole, apply) if is_rule else whole.graph.inputs(apply)[1].node
    sign = 1 if kind in _ADDS and not is_rule else -1
    variable = whole.variable_of(apply)
    signs = [(name, own * sign) for name, own in _signs_of_gradients(whole, change) if name != variable]
    signs = [(name, own) for name, own in signs if whole.graph.type(name) != "ReadVariableOp"]
    return [name for name, own in signs if own > 0], [name for name, own in signs if own < 0]


def _assigned(whole: WholeGraph, name: str) -> list[tuple[str, float]]:
    """The (value, sign) that an assignment, such as that of a momentum, hands on for its variable."""
    kind = whole.graph.type(name)
    if name not in whole.writes or kind not in ("Assign", "AssignAdd", "AssignSub"):
        return []
    return [(whole.graph.inputs(name)[1].node, -1.0 if kind == "AssignSub" else 1.0)]


def _signs_of_gradients(whole: WholeGraph, change: str) -> list[tuple[str, int]]:
    """The (node, sign) that a change is a linear function of, down to gradients: their own ops tell no sign."""
    found, todo, seen = [], [(change, 1)] if change else [], {(change, 1)}
    while todo:
        name, sign = todo.pop()
        before = [] if is_gradient_op(name) else list(linear_inputs(whole, name)) or _assigned(whole, name)
        found += [] if before else [(name, sign)]
        for node, factor in before:
            pair = node, sign if factor > 0 else -sign
            if factor and pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return found
