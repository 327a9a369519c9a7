"""Hazard of global pooling that runs along the channels of images, and leaves one of their dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.elements import hands_elements_on
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {axes: the dimension of [examples, height, width, channels] that a pooling along them leaves}.
_LEFT: dict[tuple[int, ...], str] = {(2, 3): "height", (1, 3): "width"}
#: The same of [examples, times, channels], of a convolution along the times.
_LEFT_OF_TIMES: dict[tuple[int, ...], str] = {(2,): "times"}
_MATCHES = ("BatchMatMul", "BatchMatMulV2")
_PRODUCTS = ("Mul", *_MATCHES)
_LAYERS = (
    *("Add", "AddV2", "BiasAdd", "Elu", "Identity", "LeakyRelu", "Maximum", "MaxPool", "AvgPool", "Mul", "Relu"),
    *("Relu6", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Sub", "Squeeze"),
)


def pooled_over_channels(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds means, or maxima, of what a convolution makes along its channels and one dimension; one hazard for all.

    Only those that a dense layer takes: a map of attention has a mean over the channels alone. A convolution of the
    products of two texts is left out: the best match of a word is taken over places and filters.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Mean", "Max") if name in graph.nodes]:
        source, order = graph.inputs(name)[:2]
        axes, shape = imported.constant(*order), imported.shape(*source)
        if is_gradient_op(name) or axes is None or shape is None or len(shape) not in (3, 4):
            continue
        places = tuple(sorted(int(axis) % len(shape) for axis in np.ravel(axes)))
        left = (_LEFT if len(shape) == 4 else _LEFT_OF_TIMES).get(places, "")
        convolutions = _convolutions(graph, source.node) if left else []
        if convolutions and _enters_dense_layer(graph, name) and not _gates(graph, name, convolutions):
            listed = ", ".join(str(int(axis)) for axis in np.ravel(axes))
            yield Hazard(
                "POOLED_OVER_CHANNELS",
                name,
                f"{name} pools {source.node}, the results of a convolution, along axes {listed}, the channels "
                f"among them: the dense layer behind it gets one number for each place along the {left}",
                "pool along the pixels or times; for parity keep it",
            )
            return


def _convolutions(graph: Graph, name: str) -> list[str]:
    """The nearest convolutions before a node, if all are in NHWC, and none is of products of two sequences."""
    todo, seen, found = [name], {name}, []
    while todo:
        node = todo.pop()
        if graph.type(node) == "Conv2D":
            found.append(node)
        elif graph.type(node) in _LAYERS:
            before = {tensor.node for tensor in graph.inputs(node)} - seen
            seen |= before
            todo += before
    if any(graph.type(before) in _MATCHES for before in graph.ancestors(found, controls=False)):
        return []
    formats = {graph.nodes[node].attr["data_format"].s for node in found}
    return found if formats <= {b"NHWC", b""} else []


def _gates(graph: Graph, pooled: str, convolutions: list[str]) -> bool:
    """Whether values computed from a pooling multiply results of convolutions, as attention over rows or times does."""
    after, maps = (graph.descendants(names, controls=False) for names in ([pooled], convolutions))
    products = [name for name in after if graph.type(name) in _PRODUCTS and not is_gradient_op(name)]
    others = [tensor.node for name in products for tensor in graph.inputs(name) if tensor.node not in after]
    return any(other in maps or other in convolutions for other in others)


def _enters_dense_layer(graph: Graph, name: str) -> bool:
    """Whether a matrix multiplies what a node gives, perhaps in another shape."""
    todo, seen = [name], {name}
    while todo:
        for use in [use for use in graph.users(todo.pop()) if use.position == 0 and not is_gradient_op(use.node)]:
            if graph.type(use.node) == "MatMul":
                return True
            if hands_elements_on(graph, use.node) and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
    return False
