"""Hazard of a sparsity penalty whose mean activation is that of an example's units, and not of a unit's examples."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PASSES = ("Identity", "ClipByValue", "Maximum", "Minimum", "Add", "AddV2")


def means_over_units(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds p * log(p / m), or p * log(m), of a constant p and the mean m of a dense layer's units; one for all.

    Not of gates, of which each example may open a given part, nor beside the same of the mean over the examples.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mean") if not is_gradient_op(name)]:
        axes = constant_array(graph, graph.inputs(name)[1].node)
        layer = graph.origin(graph.inputs(name)[0]).node
        is_along_units = axes is not None and axes.size == 1 and int(axes.ravel()[0]) in (1, -1)
        is_of_layer = is_along_units and graph.type(layer) == "Sigmoid" and _is_dense(whole, layer)
        if is_of_layer and _is_divergence(whole, name) and not _is_meant(whole, layer):
            yield Hazard(
                "SPARSITY_OF_EXAMPLES",
                name,
                f"a divergence from a constant takes {name}, the mean of {layer} along its units: it asks for a "
                "mean activation of the units of each example, where a sparsity penalty asks for one of each unit over "
                "the examples",
                "the mean along axis 0; for parity keep it",
            )
            return


def _is_meant(whole: WholeGraph, layer: str) -> bool:
    """Whether units gate other values, such as words, or have a divergence of their means over the examples, too."""
    graph = whole.graph
    users = {use.node for use in graph.users(layer) if use.node in whole.minimized and not is_gradient_op(use.node)}
    gates = [user for user in users if graph.type(user) == "Mul" and constant_factor(whole, user) is None]
    gated = [tensor for user in gates for tensor in graph.inputs(user) if graph.origin(tensor).node != layer]
    means = [user for user in users if graph.type(user) == "Mean"]
    axes = [constant_array(graph, graph.inputs(mean)[1].node) for mean in means]
    return bool(gated) or any(
        axis is not None and 0 in axis.ravel() and _is_divergence(whole, mean) for mean, axis in zip(means, axes)
    )


def _is_dense(whole: WholeGraph, layer: str) -> bool:
    """Whether a layer is that of a product of matrices, so that axis 1 is its last one."""
    graph, name = whole.graph, whole.graph.inputs(layer)[0].node
    while graph.type(name) in ("Add", "AddV2", "BiasAdd", "Identity"):
        name = graph.inputs(name)[0].node
    return graph.type(name) == "MatMul"


def _is_divergence(whole: WholeGraph, mean: str) -> bool:
    """Whether a constant multiplies the logarithm of a mean, or of a constant divided by it."""
    graph, todo, seen = whole.graph, [mean], {mean}
    while todo:
        for use in [use for use in graph.users(todo.pop()) if not is_gradient_op(use.node)]:
            kind = graph.type(use.node)
            if kind == "Log":
                factors = [one.node for one in graph.users(use.node) if graph.type(one.node) == "Mul"]
                if any(constant_factor(whole, one) is not None for one in factors if not is_gradient_op(one)):
                    return True
            numbers = [whole.value(tensor.node) for tensor in graph.inputs(use.node)]
            passes = kind in (*_PASSES, *op_types.QUOTIENTS) and sum(number is None for number in numbers) == 1
            if (passes or kind == "Identity") and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
    return False
