"""Weight decay of an old graph that its losses show: half the squares of weights, each times one number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Plan
from workloads.lifted.workload import LiftedWorkload

#: Ops that hand a loss on.
_PASSES = ("Identity", "StopGradient", "Reshape", "Squeeze")


def stated_decay(lift: LiftedWorkload, factor: float = 1.0) -> dict[str, Any]:
    """Reads the weight decay that all towers' losses add.

    Args:
      lift: the old graph.
      factor: of the old graph's gradients in the port's terms.

    Returns:
      {field of a job's context: value}: `weight_decay`, `decayed` and `penalized`, or `penalized` alone where no loss
      has a penalty; empty where the towers' penalties differ, have several rates, or are of another form.
    """
    plan, graph = lift.plan, lift.graph
    found = [_penalties(plan, graph, loss) for loss in plan.phases[0].losses]
    first = found[0] if found else None
    if first is None or any(own != first for own in found) or len(set(first.values())) > 1:
        return {}
    names = tuple(sorted(first))
    rates = {"weight_decay": factor * first[names[0]], "decayed": names} if names else {}
    return {**rates, "penalized": names}


def _penalties(plan: Plan, graph: Graph, loss: str) -> dict[str, float] | None:
    """Returns {weight: rate} of a loss's penalties; None if one is not known to be half the squares of a weight."""
    data = {parse_tensor_name(name).node for entry in plan.inputs + plan.common for name in entry.tensors}
    rates: dict[str, float] = {}
    for term, factor in _terms(graph, parse_tensor_name(loss), 1.0):
        if graph.type(term.node) == "L2Loss":
            weight = _variable(plan, graph, graph.inputs(term.node)[0])
            if weight is None:
                return None
            rates[weight] = rates.get(weight, 0.0) + factor
        elif graph.type(term.node) != "Const":
            before = graph.ancestors([term.node], controls=False)
            if not data & before or any(_is_of_squares(plan, graph, name) for name in before):
                return None
    return rates


def _is_of_squares(plan: Plan, graph: Graph, name: str) -> bool:
    """Returns whether a node squares a weight: a penalty, perhaps, that a term of data contains or a setting scales."""
    kind = graph.type(name)
    return kind == "L2Loss" or kind == "Square" and _variable(plan, graph, graph.inputs(name)[0]) is not None


def _terms(graph: Graph, tensor: TensorId, factor: float) -> Iterator[tuple[TensorId, float]]:
    """Yields (term, constant that it is multiplied by) of a sum.

    Args:
      graph: the old graph.
      tensor: the sum.
      factor: that the sum is multiplied by.
    """
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if kind in op_types.ADDITIONS:
        for term in inputs:
            yield from _terms(graph, term, factor)
    elif kind in _PASSES:
        yield from _terms(graph, inputs[0], factor)
    elif kind == "Mul":
        numbers = [scalar_constant(graph.nodes[graph.origin(own).node]) for own in inputs]
        known = [place for place, number in enumerate(numbers) if number is not None]
        if len(known) == 1:
            yield from _terms(graph, inputs[1 - known[0]], factor * float(numbers[known[0]] or 0.0))
        else:
            yield tensor, factor
    else:
        yield tensor, factor


def _variable(plan: Plan, graph: Graph, tensor: TensorId) -> str | None:
    """Returns the weight that a tensor is the value of; None for any other tensor."""
    while tensor.name not in plan.aliases and graph.type(tensor.node) in ("Identity", "ReadVariableOp", "Enter"):
        tensor = graph.inputs(tensor.node)[0]
    return plan.aliases.get(tensor.name)
