"""Lengths of the sums in a step, with which the rounding errors of old TensorFlow versions' kernels grow."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, parse_tensor_name

#: Ops that add up all numbers of their first input, or those along some of its dimensions.
SUMS = ("Sum", "Mean", "L2Loss", "BiasAddGrad")


def longest_sum(graph: Graph, imported: ImportedGraph, tensors: Iterable[str], batch: int | None) -> int:
    """Returns how many numbers are added to one, at most, on the way to some tensors.

    Args:
      graph: the graph.
      imported: the same in TensorFlow.
      tensors: names of tensors.
      batch: examples of one tower, for dimensions that the graph leaves open; or None.

    Returns:
      The number; 1 if nothing is added up. Sums inside of products of matrices are blocked, and not counted.
    """
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))
    before = graph.ancestors({parse_tensor_name(name).node for name in tensors}, stop=shapes, controls=False)
    longest = 1
    for name in [name for name in before if graph.type(name) in SUMS]:
        first, result = graph.inputs(name)[0], imported.shape(name)
        added = imported.shape(*first)
        if added is not None and result is not None:
            longest = max(longest, _elements(added, batch) // max(1, _elements(result, batch)))
    return longest


def _elements(shape: tuple[int | None, ...], batch: int | None) -> int:
    return int(np.prod([size if size is not None else batch or 1 for size in shape], dtype=np.int64))
