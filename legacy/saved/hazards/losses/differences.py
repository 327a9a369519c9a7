"""Hazards of a tensor that a loss subtracts from itself, or subtracts and adds again."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.structures import structures
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def differences_of_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with the difference of a tensor that a model computes and itself; one hazard for all.

    The model may compute it twice, of the same data. A straight-through estimate subtracts a tensor from itself, too,
    but lets no gradient pass one of both; the derivative of its square is 0.
    """
    graph = whole.graph
    for name in whole.minimized_ops(*op_types.DIFFERENCES):
        first, second = graph.inputs(name)[:2]
        is_one = graph.origin(first) == graph.origin(second) or _is_squared_twin(whole, name, first, second)
        if (is_one or _are_computed_alike(whole, first, second)) and graph.ancestors([first.node]) & whole.trainable:
            sources = [source_of_elements(graph, tensor).node for tensor in (first, second)]
            are = (
                sources[0]
                if graph.origin(first) == graph.origin(second)
                else f"{sources[0]} and {sources[1]}, which compute the same of the same data"
            )
            yield Hazard(
                "DIFFERENCE_OF_ONE",
                name,
                f"both inputs of {name} ({graph.type(name)}) are {are}: the difference is always 0, and no gradient "
                "passes it",
                "check which two tensors were meant; for parity keep it",
            )
            return


def _is_squared_twin(whole: WholeGraph, name: str, first: TensorId, second: TensorId) -> bool:
    """Whether the difference of a result and its own value behind `stop_gradient` is squared, and nothing else."""
    graph = whole.graph
    ends = [_source_behind_stop(graph, one) for one in (first, second)]
    numbers = structures(whole)
    are_alike = len({(numbers.get(one.node, one.node), one.output) for one in ends}) == 1
    is_stopped = [end != graph.origin(one) for end, one in zip(ends, (first, second))]
    if sorted(is_stopped) != [False, True] or not are_alike:
        return False
    users = [use.node for use in graph.users(name) if use.node in whole.minimized and not is_gradient_op(use.node)]
    are_squares = bool(users) and all(squared(whole, user) == TensorId(name, 0) for user in users)
    return graph.type(name) == "SquaredDifference" or are_squares


def _source_behind_stop(graph: Graph, tensor: TensorId) -> TensorId:
    tensor = graph.origin(tensor)
    while graph.type(tensor.node) == "StopGradient":
        tensor = graph.origin(graph.inputs(tensor.node)[0])
    return tensor


def _are_computed_alike(whole: WholeGraph, first: TensorId, second: TensorId) -> bool:
    """Returns whether the same weights compute two results of the same data, and gradients pass to both."""
    if not {first.node, second.node} <= whole.data or first.output != second.output:
        return False
    numbers = structures(whole)
    if numbers.get(first.node, first.node) != numbers.get(second.node, second.node):
        return False
    before = whole.graph.ancestors([first.node, second.node], controls=False)
    return not any(whole.graph.type(node) == "StopGradient" for node in before)


def differences_undone(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds x + (y - x) of a result x of layers, through which no gradient passes to x; one hazard for all.

    A straight-through estimate has this form, with the difference behind `stop_gradient`.
    """
    graph = whole.graph
    for name in whole.minimized_ops("Add", "AddV2"):
        sides = graph.inputs(name)[:2]
        for kept, other in zip(sides, reversed(sides)):
            difference = graph.origin(other).node
            if graph.type(difference) != "Sub" or is_gradient_op(name):
                continue
            taken, subtracted = (graph.origin(tensor) for tensor in graph.inputs(difference)[:2])
            if subtracted != graph.origin(kept) or subtracted.node not in whole.data:
                continue
            if graph.ancestors([subtracted.node], controls=False) & whole.trainable:
                yield Hazard(
                    "DIFFERENCE_UNDONE",
                    name,
                    f"{name} adds {subtracted.node} to {difference}, which subtracts it: the sum is {taken.node}, and "
                    f"no gradient passes to {subtracted.node}, as it would in a straight-through estimator",
                    "write x + tf.stop_gradient(y - x); for parity keep it",
                )
                return
