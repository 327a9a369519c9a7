"""Hazard of a layer whose bias is added to its weight, and not to its results."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Layers, which take their weight as the second input.
_LAYERS = ("MatMul", "Conv2D", "Conv3D", "DepthwiseConv2dNative")


def biases_added_to_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers of data whose weight is the sum of a trained weight and a trained vector; one hazard for all.

    A layer that has a bias of its own besides is left alone: the vector may be meant for a part of the weight.
    """
    layers = [name for name in whole.minimized_ops(*_LAYERS) if not is_gradient_op(name)]
    found = [
        (name, *pair) for name in layers for pair in [_weight_and_bias(whole, name)] if pair and name in whole.data
    ]
    found = [row for row in found if not _has_bias(whole, row[0])]
    if not found:
        return
    name, weight, bias = found[0]
    others = len({row[2] for row in found}) - 1
    more = f", and {others} more layers have theirs so" if others else ""
    yield Hazard(
        "BIAS_ADDED_TO_WEIGHT",
        name,
        f"{name} takes the sum of its weight {weight} and its bias {bias} as weight{more}: the bias is multiplied by "
        "the layer's inputs, and shifts nothing where these are 0",
        "add the bias to the layer's results; for parity keep it",
    )


def _weight_and_bias(whole: WholeGraph, layer: str) -> tuple[str, str] | None:
    """The trained weight of a layer, and the trained vector along its outputs that is added to it; None if none is."""
    graph = whole.graph
    total = graph.origin(graph.inputs(layer)[1]).node
    if graph.type(total) not in ("Add", "AddV2", "BiasAdd"):
        return None
    variables = [variable_read(graph, tensor.node) for tensor in graph.inputs(total)]
    shapes = {name: variable_sizes(whole.graph, name) for name in variables if name in whole.trainable}
    if len(shapes) != 2:
        return None
    bias, weight = sorted(shapes, key=lambda name: len(shapes[name]))
    is_along_outputs = len(shapes[bias]) == 1 and len(shapes[weight]) >= 2 and shapes[bias][-1] == shapes[weight][-1]
    is_turned = graph.type(layer) == "MatMul" and graph.nodes[layer].attr["transpose_b"].b
    return (weight, bias) if is_along_outputs and not is_turned else None


def _has_bias(whole: WholeGraph, layer: str) -> bool:
    """Whether a variable is added to the results of a layer, or a normalization takes them."""
    graph, todo = whole.graph, [layer]
    while todo:
        users = [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]
        for user in [user for user in users if not is_gradient_op(user)]:
            kind = graph.type(user)
            is_sum = kind in ("BiasAdd", *op_types.SUMS_OF_TWO)
            adds_variable = is_sum and any(variable_read(graph, tensor.node) for tensor in graph.inputs(user))
            if adds_variable or kind.startswith("FusedBatchNorm"):
                return True
            if kind in ("Identity", "Reshape", "Squeeze"):
                todo.append(user)
    return False
