"""Losses that are divided by the number of all towers' examples, whose gradients add up to that of the mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np

from legacy.saved.analysis.reduction.growth import Growth
from legacy.saved.analysis.reduction.static_sizes import static_number
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.plan import Combine, is_indices_label

#: Relative difference within which a float32 number is a whole one, or one over it.
_TOLERANCE = 1e-6


class AllExamples:
    """The number of examples of all towers, as a divisor of what each tower adds up over its own.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      data: its nodes that depend on data.
      growth: of the graph's numbers with the examples.
      count: number of examples of all towers.
    """

    def __init__(
        self, graph: Graph, imported: ImportedGraph, data: Collection[str], growth: Growth, count: int
    ) -> None:
        self._graph, self._imported, self._data = graph, imported, data
        self._growth, self._count = growth, count

    def with_divided(self, combine: Sequence[Combine], losses: Sequence[TensorId]) -> list[Combine]:
        """Returns how gradients are combined at other numbers of replicas, too.

        Args:
          combine: as the graph's own towers have it.
          losses: of all towers that are differentiated.

        Returns:
          The same; sums that make a mean, since each loss or their sum is divided by all examples, as such.
        """
        if losses and all(self._divides(loss) for loss in losses):
            return [_as_mean(one) if one.scale == 1.0 else one for one in combine]
        if losses and all(self._growth.power(loss) == 1 for loss in losses):
            return [_as_mean(one) if self._is_one_over_all(one.scale) else one for one in combine]
        return list(combine)

    def _divides(self, loss: TensorId) -> bool:
        """Whether a loss is a sum over examples, or several, that the number of all examples divides."""
        kind, inputs = self._graph.type(loss.node), self._graph.inputs(loss.node)
        if kind in ("Identity", *op_types.ADDITIONS):
            return all(tensor.node in self._data and self._divides(tensor) for tensor in inputs)
        if kind != "Mul" and kind not in op_types.QUOTIENTS:
            return False
        computed = [tensor for tensor in inputs if tensor.node in self._data]
        if len(computed) != 1 or (kind != "Mul" and computed[0] != inputs[0]):
            return False
        factor = static_number(self._graph, self._imported, inputs[computed[0] == inputs[0]])
        if factor is None or np.ndim(factor) or not factor:
            return False
        scale = float(factor) if kind == "Mul" else 1.0 / float(factor)
        return self._is_one_over_all(scale) and self._growth.power(computed[0]) == 1

    def _is_one_over_all(self, scale: float) -> bool:
        return abs(scale * self._count - 1) < _TOLERANCE


def _as_mean(combine: Combine) -> Combine:
    """Returns a sum, or joined rows, that are divided by the number of replicas besides."""
    if combine.kind not in ("sum", "concat") or is_indices_label(combine.weight):
        return combine
    return dataclasses.replace(combine, divided=True)
