"""Linear functions of a graph's scalars: the weight of each in sums, products with constants and means."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph

#: Ops that hand their input on unchanged.
COPIES = ("Identity", "Cast", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "CheckNumerics")
SUMS = ("Add", "AddV2", "AddN", "Sub", "Pack", "ConcatV2", "Concat")


def linear_weights(whole: WholeGraph, target: str) -> dict[str, float]:
    """Returns {node: d target / d node} of the nodes that a node is a linear function of, with constant weights."""
    found: dict[str, list[tuple[str, float]]] = {}
    todo = [target]
    while todo:  # a walk of these nodes alone: a graph may have a hundred thousand others before them
        name = todo.pop()
        if name not in found:
            found[name] = list(linear_inputs(whole, name))
            todo += [before for before, _ in found[name]]
    weights = {target: 1.0}
    for name in reversed(whole.graph.order(set(found))):
        for before, factor in found[name]:
            weights[before] = weights.get(before, 0.0) + weights[name] * factor
    return weights


def linear_inputs(whole: WholeGraph, name: str) -> Iterator[tuple[str, float]]:
    """Yields (input, factor) of a node that is a linear function of scalars."""
    kind, inputs = whole.graph.type(name), [before for before, _ in whole.graph.inputs(name)]
    if kind in COPIES and inputs:
        yield inputs[0], 1.0
    elif kind in SUMS:
        for position, before in enumerate(inputs):
            if whole.graph.type(before) != "Const":
                yield before, -1.0 if kind == "Sub" and position == 1 else 1.0
    elif kind == "Neg":
        yield inputs[0], -1.0
    elif kind in op_types.SCALINGS:
        found = constant_factor(whole, name)
        if found is not None:
            yield found
    elif kind in op_types.REDUCTIONS:
        stacked = _stacked(whole, inputs[0])
        if reduces_nothing(whole.graph, name):
            yield inputs[0], 1.0
        elif stacked:
            yield inputs[0], 1.0 / stacked if kind == "Mean" else 1.0


def is_zero_term(whole: WholeGraph, name: str) -> bool:
    """Returns whether a term is a product with the constant 0."""
    factor = constant_factor(whole, name) if whole.graph.type(name) == "Mul" else None
    return factor is not None and factor[1] == 0


def reduces_nothing(graph: Graph, name: str) -> bool:
    """Returns whether a node is a mean or sum over no axis, as `tf.reduce_mean` of a scalar is."""
    inputs = graph.inputs(name)
    if graph.type(name) not in op_types.REDUCTIONS or len(inputs) < 2 or graph.type(inputs[1].node) != "Const":
        return False
    return 0 in [size.size for size in graph.nodes[inputs[1].node].attr["value"].tensor.tensor_shape.dim]


def _stacked(whole: WholeGraph, name: str) -> int:
    """The number of scalars that a node stacks or joins; 0 if it does not."""
    while whole.graph.type(name) in ("Identity",):
        name = whole.graph.inputs(name)[0].node
    inputs = whole.graph.inputs(name)
    if whole.graph.type(name) == "Pack":
        return len(inputs)
    if whole.graph.type(name) in op_types.JOINS:
        return len([before for before, _ in inputs if whole.graph.type(before) != "Const"])
    return 0


def constant_factor(whole: WholeGraph, name: str) -> tuple[str, float] | None:
    """(the other input, the factor) of a product or quotient with a constant; None for any other node."""
    inputs = [before for before, _ in whole.graph.inputs(name)]
    if whole.graph.type(name) not in op_types.SCALINGS or len(inputs) != 2:
        return None
    first, second = (whole.value(before) for before in inputs)
    if whole.graph.type(name) in op_types.QUOTIENTS:
        return (inputs[0], 1.0 / second) if second else None
    if second is not None:
        return inputs[0], second
    return (inputs[1], first) if first is not None else None


def linear_part(whole: WholeGraph, name: str) -> tuple[str, float, float] | None:
    """(x, a, b) of a node that is a x + b with constants a and b; None for any other node."""
    kind, inputs = whole.graph.type(name), [before for before, _ in whole.graph.inputs(name)]
    if kind in COPIES and inputs:
        return inputs[0], 1.0, 0.0
    if kind == "Neg" and inputs:
        return inputs[0], -1.0, 0.0
    if kind in op_types.SCALINGS:
        found = constant_factor(whole, name)
        return None if found is None else (*found, 0.0)
    if kind in op_types.SUMS_AND_DIFFERENCES and len(inputs) == 2:
        signs = (1.0, -1.0 if kind == "Sub" else 1.0)
        for position, number in enumerate(map(whole.value, inputs)):
            if number is not None:
                return inputs[1 - position], signs[1 - position], signs[position] * number
    return None


def linear_source(whole: WholeGraph, name: str) -> tuple[str, float, float]:
    """(x, a, b) of a node that is a x + b with constants a and b, where x is no such function of another node."""
    factor, offset = 1.0, 0.0
    part = linear_part(whole, name)
    while part is not None:
        name, factor, offset = part[0], factor * part[1], factor * part[2] + offset
        part = linear_part(whole, name)
    return name, factor, offset


def data_weight(whole: WholeGraph, weights: dict[str, float]) -> float:
    """Returns the largest weight, in what a tower differentiates, of a term that depends on data.

    Args:
      whole: the graph.
      weights: {node: weight} of what is differentiated; see `linear_weights`.
    """
    ends = [name for name in weights if name in whole.data and not list(linear_inputs(whole, name))]
    return max((abs(weights[name]) for name in ends), default=1.0)
