"""Hazard of two terms, weighted by labels y and 1 - y, that push a distance or a score the same way."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_WORDS = {1: "rises", -1: "falls"}


def distances_pushed_one_way(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds distances, norms and products of what weights compute that both labels push one way; one for all.

    That is the sign of a term, or of a margin in its hinge: y d^2 + (1 - y) max(0, m - d)^2 pushes both ways.
    """
    graph, targets = whole.graph, minimized_targets(whole)
    distances = {name for name in whole.minimized_ops("Sum") if is_distance(whole, name)}
    if not distances:
        return
    pushes = None
    for label, complement in complements(whole):
        one, other = (weighed(whole, node) for node in (label, complement))
        candidates = graph.order(one & other & distances)
        if not candidates:
            continue
        pushes = pushes or Pushes(whole, targets)
        sign = pushes.sign(TensorId(candidates[-1], 0))
        if sign:
            yield Hazard(
                "PUSHED_ONE_WAY",
                candidates[-1],
                f"{targets[0]} has terms of {candidates[-1]} weighted by {label} and by 1 - {label}, and "
                f"{_WORDS[sign]} in both where {candidates[-1]} rises: the two labels train the same thing",
                "look for a wrong sign, or a hinge max(0, margin - d) in the wrong term; for parity keep it",
            )
            return


def complements(whole: WholeGraph) -> list[tuple[str, str]]:
    """Returns (y, 1 - y) of labels that no weights make, both of which multiply parts of the loss."""
    graph, found = whole.graph, []
    for name in whole.minimized_ops("Sub"):
        inputs = graph.inputs(name)
        if whole.value(inputs[0].node) != 1 or is_gradient_op(name) or name not in whole.data:
            continue
        if name not in made_by_weights(whole):
            found.append((source_of_elements(graph, inputs[1]).node, name))
    return found


def weighed(whole: WholeGraph, weight: str) -> set[str]:
    """Returns the nodes before the trained values that a weight, as it is or scaled by numbers, multiplies."""
    graph, found, todo = whole.graph, set(), [weight]
    seen = {weight}
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            trained = [tensor.node for tensor in graph.inputs(user) if tensor.node in made_by_weights(whole)]
            if is_gradient_op(user) or user in seen:
                continue
            seen.add(user)
            if graph.type(user) == "Mul" and len(trained) == 1:
                found |= graph.ancestors(trained, controls=False)
            elif not trained and (graph.type(user) == "Mul" or hands_elements_on(graph, user)):
                todo.append(user)
    return found


def is_distance(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node sums squares of what weights compute, or products of two such; not errors against data."""
    graph = whole.graph
    if graph.type(name) != "Sum" or is_gradient_op(name):
        return False
    inner = graph.origin(graph.inputs(name)[0]).node
    square = squared(whole, inner)
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(inner)]
    if square is not None:
        value = graph.origin(square).node
        inputs = [tensor.node for tensor in graph.inputs(value)] if graph.type(value) == "Sub" else [value]
    elif graph.type(inner) not in ("Mul", "SquaredDifference"):
        return False
    return all(node in made_by_weights(whole) for node in inputs)
