"""Hazard of a decoder whose layer is joined with itself, and not with what the encoder hands over."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

_JOINS = {"Concat": slice(1, None), "ConcatV2": slice(None, -1)}
#: Ops that make images larger.
_UPSAMPLING = ("Conv2DBackpropInput", "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "DepthToSpace")
#: Ops that a layer ends with, behind its product.
_ENDS = ("Identity", "BiasAdd", "Add", "AddV2", "Relu", "Elu", "LeakyRelu", "Relu6", "Maximum", "Mul")
_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_PASSES = ("Identity", "Pad", "PadV2", "MirrorPad")


def joined_with_themselves(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds upsampled images that are concatenated with themselves before a convolution; one hazard for all.

    The channels come twice, which the convolution's weights could say by their sum. Other vectors are left out: an
    author may repeat one to give it another's size.
    """
    graph = whole.graph
    for name in whole.minimized_ops(*_JOINS):
        parts = [graph.origin(part) for part in graph.inputs(name)[_JOINS[graph.type(name)]]]
        twice = [part for part in dict.fromkeys(parts) if parts.count(part) > 1]
        if twice and not is_gradient_op(name) and _is_upsampled(graph, twice[0].node) and _enters_layer(whole, name):
            yield Hazard(
                "JOINED_WITH_ITSELF",
                name,
                f"{name} joins {twice[0].node}, an enlarged image, with itself: the convolution behind it gets its "
                "channels twice, where a skip connection joins those of an earlier layer",
                "join what the encoder has at this size; for parity keep it",
            )
            return


def _is_upsampled(graph: Graph, name: str) -> bool:
    """Whether a node is the result of a layer that enlarges images."""
    while graph.type(name) in (*_ENDS, *_NORMALIZATIONS):
        name = graph.inputs(name)[0].node
    return graph.type(name) in _UPSAMPLING and not is_gradient_op(name)


def _enters_layer(whole: WholeGraph, name: str) -> bool:
    """Whether a convolution with trained weights takes a node."""
    todo = [name]
    while todo:
        for use in whole.graph.users(todo.pop()):
            kind = whole.graph.type(use.node)
            if (
                kind in ("Conv2D", "Conv2DBackpropInput")
                and use.node in whole.minimized
                and not is_gradient_op(use.node)
            ):
                return True
            if kind in _PASSES:
                todo.append(use.node)
    return False
