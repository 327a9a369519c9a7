"""Hazards of errors that are divided by a count of positions, or a sum of weights, that does not multiply them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.weighed_values import counted_elements, made_by_weights, sum_below
from legacy.saved.hazards.losses.masks.masked_losses import is_answer, opposite, question
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Names of placeholders that weigh examples.
WEIGHTS = re.compile(r"(?i)(weight|mask)s?(_ph|_placeholder)?(_\d+)?$")


def counts_of_the_opposite(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums of errors that a mask keeps, divided by the count of the positions that it leaves out; one for all.

    As of tf.where with its branches exchanged. A count of positions that weighs other errors is of objects, by which
    a detector divides those of the background, too.
    """
    graph = whole.graph
    quotients = [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]
    counted = [(name, node) for name in quotients for node in _counted(whole, graph.inputs(name)[1].node)]
    masks = [(name, node) for name, node in counted if is_answer(whole, node) and node in whole.data]
    if not masks:
        return
    kept = {
        name: _kept(whole, name) for name in whole.minimized_ops("Mul", *op_types.CHOICES) if not is_gradient_op(name)
    }
    chosen = graph.ancestors(whole.minimized_ops("Where"), controls=False)
    for name, mask in masks:
        total = graph.origin(graph.inputs(name)[0]).node
        errors = source_of_elements(graph, graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
        asked = question(whole, mask)
        if kept.get(errors) == opposite(asked) and asked not in kept.values() and mask not in chosen:
            yield Hazard(
                "COUNT_OF_ANOTHER_MASK",
                name,
                f"{name} divides {total}, the errors that {errors} keeps, by the number of those that {mask} counts, "
                "all of which it sets to 0",
                "exchange the branches of the mask; for parity keep it",
            )
            return


def sums_of_unused_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums of errors that are divided by the sum of fed weights, which the loss contains nowhere else."""
    graph = whole.graph
    quotients = [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]
    sums = {name: sum_below(whole, graph.inputs(name)[1].node) for name in quotients}
    below = {total for total in sums.values() if total}
    for name, divisor in sums.items():
        total = graph.origin(graph.inputs(name)[0]).node
        source = _fed(whole, source_of_elements(graph, graph.inputs(divisor)[0]).node) if divisor else ""
        others = _other_weights(whole, total, source) if source and graph.type(total) == "Sum" else ""
        if not source or graph.type(total) != "Sum" or not (others or _are_bare_errors(whole, total)):
            continue
        if set(whole.targets) & graph.descendants(_uses_outside(whole, source, below), controls=False):
            continue
        yield Hazard(
            "COUNT_OF_ANOTHER_MASK",
            name,
            f"{name} divides {total} by the sum of {source}, which the loss contains nowhere else: the errors are "
            + (f"multiplied by {others}" if others else "not multiplied by these weights"),
            "multiply the errors by the weights that are added up; for parity keep it",
        )
        return


def _counted(whole: WholeGraph, divisor: str) -> list[str]:
    """The nodes whose elements a divisor adds up, perhaps at least 1: also those that it counts in all towers."""
    graph, name = whole.graph, divisor
    while graph.type(name) in ("Maximum", "Identity", "Cast"):
        others = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        if len(others) != 1:
            return []
        name = others[0]
    sums = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "AddN" else [divisor]
    return [node for node in (counted_elements(whole, one) for one in sums) if node]


def _kept(whole: WholeGraph, name: str) -> tuple[object, bool] | None:
    """The question whose answer yes keeps what weights make, where a node sets the rest to 0; None of any other."""
    graph = whole.graph
    inputs = graph.inputs(name)
    if graph.type(name) in op_types.CHOICES:
        condition = source_of_elements(graph, inputs[0]).node
        zeros = [_is_zero(whole, tensor.node) for tensor in inputs[1:]]
        if sorted(zeros) != [False, True] or not is_answer(whole, condition) or condition not in whole.data:
            return None
        if inputs[1 + zeros.index(False)].node not in made_by_weights(whole):
            return None  # labels, of which some are set to 0
        asked = question(whole, condition)
        return opposite(asked) if zeros[0] else asked
    for one, other in zip(inputs, reversed(inputs)):
        answer = source_of_elements(graph, one).node
        is_mask = answer in whole.data and answer not in made_by_weights(whole) and is_answer(whole, answer)
        if is_mask and other.node in made_by_weights(whole):
            return question(whole, answer)
    return None


def _is_zero(whole: WholeGraph, name: str) -> bool:
    graph = whole.graph
    if graph.type(name) == "Fill":
        return whole.value(graph.inputs(name)[1].node) == 0
    numbers = constant_array(graph, name)
    return graph.type(name) == "ZerosLike" or (numbers is not None and not numbers.any())


def _fed(whole: WholeGraph, name: str) -> str:
    """The placeholder of fractions whose elements, or a tower's part of them, a node holds; "" of any other node.

    It has a number for each position of each example, or a name that says that it weighs the examples: other numbers of
    examples may be their lengths, which are counted without a mask.
    """
    graph = whole.graph
    while graph.type(name) in ("Split", "StridedSlice"):
        name = source_of_elements(graph, graph.inputs(name)[op_types.divided_input(graph.type(name))]).node
    attributes = graph.nodes[name].attr
    recorded = attributes["_output_shapes"].list.shape
    rank = len((recorded[0] if recorded else attributes["shape"].shape).dim)
    is_fraction = graph.type(name) == "Placeholder" and tf.as_dtype(attributes["dtype"].type).is_floating
    return name if is_fraction and (rank > 1 or (rank == 1 and WEIGHTS.search(name))) else ""


def _other_weights(whole: WholeGraph, total: str, source: str) -> str:
    """The fed masks or weights, by their name, that multiply the errors of a sum, if others are called so, too."""
    graph, product = whole.graph, source_of_elements(whole.graph, whole.graph.inputs(total)[0]).node
    inputs = (
        [source_of_elements(graph, one).node for one in graph.inputs(product)] if graph.type(product) == "Mul" else []
    )
    weights = [name for name in (_fed(whole, node) for node in inputs) if name and WEIGHTS.search(name)]
    is_of_errors = any(node in made_by_weights(whole) for node in inputs)
    return weights[0] if is_of_errors and len(weights) == 1 and WEIGHTS.search(source) and weights[0] != source else ""


def _are_bare_errors(whole: WholeGraph, total: str) -> bool:
    """Whether a sum adds up results of layers that are not multiplied by data."""
    graph, name = whole.graph, source_of_elements(whole.graph, whole.graph.inputs(total)[0]).node
    while graph.type(name) == "Neg" or constant_factor(whole, name) is not None:
        scaled = constant_factor(whole, name)
        name = source_of_elements(graph, TensorId(scaled[0], 0) if scaled is not None else graph.inputs(name)[0]).node
    return name in made_by_weights(whole) and graph.type(name) not in ("Mul", *op_types.CHOICES)


def _uses_outside(whole: WholeGraph, source: str, sums: set[str]) -> list[str]:
    """The nodes that take fed numbers, perhaps in part or in another shape, other than the sums that divide."""
    graph, todo, seen = whole.graph, [source], {source}
    outside: list[str] = []
    while todo:
        for use in graph.users(todo.pop()):
            kind = graph.type(use.node)
            if use.node in seen or use.node in sums or is_gradient_op(use.node):
                continue
            seen.add(use.node)
            is_copy = kind in ("Identity", "Cast", "Reshape", "ExpandDims", "Squeeze", "Split", "StridedSlice")
            (todo if is_copy else outside).append(use.node)
    return outside
