"""Counts the floating-point operations of a graph's matrix products and convolutions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph

#: Ops that do most of a model's arithmetic, with their gradients'.
COMPUTE = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")


def count_flops(graph: Graph) -> dict[str, int]:
    """Returns {node: floating-point operations} of the `COMPUTE` ops.

    Unknown dimensions, such as the batch, count as one; an op of unknown rank counts 0. The result is empty if
    TensorFlow cannot import the graph.
    """
    try:
        imported = ImportedGraph(graph)
    except (ValueError, TypeError):
        return {}
    return {name: _flops(graph, imported, name) for name in graph.of_types(*COMPUTE)}


def _flops(graph: Graph, imported: ImportedGraph, name: str) -> int:
    """Two operations, a product and a sum, for each element of the result and each term of its sum."""
    shapes = [imported.shape(*tensor) for tensor in graph.inputs(name)[:2]] + [imported.shape(name, 0)]
    known = [[size or 1 for size in shape] for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return 0
    first, second, result = known
    if graph.type(name).startswith("Conv"):
        kernel = result if "Filter" in graph.type(name) else second
        return 2 * _product(result) * _product(kernel[:3])
    node = graph.nodes[name]
    transposed = node.attr["transpose_a"].b or node.attr["adj_x"].b
    return 2 * _product(result) * (first[-2] if transposed else first[-1])


def _product(sizes: Iterable[int]) -> int:
    return functools.reduce(operator.mul, sizes, 1)
