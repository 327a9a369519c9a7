"""Hazards of images that are normalized by moments along too few of their axes, or along those of another layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Axes along which no normalization takes the moments of images [examples, height, width, channels].
_ODD = ([0], [1], [2], [0, 1], [0, 2])
_PASSES = ("Add", "AddV2", "BiasAdd", "Identity", "Relu")
_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


def moments_of_parts(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds moments of what a convolution makes along the examples without all pixels; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Mean") if name in graph.nodes and not is_gradient_op(name)]:
        source, order = graph.inputs(name)[:2]
        shape, axes = imported.shape(*source), imported.constant(*order)
        if axes is None or shape is None or len(shape) != 4 or 1 in shape[1:3] or not _is_of_variance(graph, name):
            continue
        is_odd = sorted(int(axis) % 4 for axis in np.ravel(axes)) in _ODD
        if is_odd and _is_of_convolution(graph, source.node) and _is_normalized_by(graph, source, name):
            listed = ", ".join(str(int(axis)) for axis in np.ravel(axes))
            yield Hazard(
                "MOMENTS_OF_PARTS",
                name,
                f"{name} and the variance beside it are moments of {source.node} along axes {listed}: single rows, "
                "columns or pixels are normalized, and not channels",
                "use axes 0, 1, 2 for batch normalization, and 1, 2 for instance normalization; for parity keep it",
            )
            return


def moments_of_another_layout(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds batch normalizations that take another axis for the channels than the convolution before; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops(*_NORMALIZATIONS):
        layer = graph.inputs(name)[0].node
        while graph.type(layer) in _PASSES and graph.inputs(layer):
            layer = graph.inputs(layer)[0].node
        if is_gradient_op(name) or graph.type(layer) not in ("Conv2D", "DepthwiseConv2dNative"):
            continue
        own, made = (graph.nodes[one].attr["data_format"].s.decode() or "NHWC" for one in (name, layer))
        if own != made:
            yield Hazard(
                "MOMENTS_OF_PARTS",
                name,
                f"{name} normalizes {own} images, and {layer} makes {made} ones: it takes "
                f"{'rows' if made == 'NHWC' else 'columns'} of the images for channels",
                "give the normalization the axis of the channels; for parity keep it",
            )
            return


def _is_of_variance(graph: Graph, mean: str) -> bool:
    """Whether the square of a difference from a mean is taken, as of a variance."""
    todo, seen = [mean], {mean}
    while todo:
        for use in graph.users(todo.pop()):
            if graph.type(use.node) == "SquaredDifference":
                return True
            if graph.type(use.node) in ("StopGradient", "Identity") and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
    return False


def _is_normalized_by(graph: Graph, source: TensorId, mean: str) -> bool:
    """Whether elements are shifted or scaled by what follows from their moments; a deviation may be a feature, too."""
    moments = graph.descendants([mean], controls=False)
    todo, seen = [source.node], {source.node}
    while todo:
        name = todo.pop()
        for user in {use.node for use in graph.users(name) if not is_gradient_op(use.node)} - seen:
            others = [tensor.node for tensor in graph.inputs(user) if tensor.node != name]
            if graph.type(user) in ("Mul", "Sub", *op_types.QUOTIENTS) and any(other in moments for other in others):
                return True
            if graph.type(user) in ("Sub", *op_types.ADDITIONS) and user not in moments:
                seen.add(user)
                todo.append(user)
    return False


def _is_of_convolution(graph: Graph, name: str) -> bool:
    """Whether a node is a convolution in NHWC, with its bias and rectifier."""
    while graph.type(name) in _PASSES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return graph.type(name) == "Conv2D" and graph.nodes[name].attr["data_format"].s in (b"NHWC", b"")
