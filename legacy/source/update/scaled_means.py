"""Means of the towers' gradients that an update multiplies by constants, as optimizers do that authors write."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from legacy.saved.analysis.reduction.multipliers import TOLERANCE, factors_on_sum
from legacy.saved.graph.imported import imported_graph
from workloads.lifted.averaging import division_rounds
from workloads.lifted.graph import TensorId

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine


def before_constants(graph: Graph, combine: Combine, towers: int) -> Combine:
    """Returns how gradients are combined up to their mean, where constants that round multiply it.

    The mean is then reduced over the replicas, and the update multiplies it, as it does in the old graph.

    Args:
      graph: of the lift.
      combine: how the gradients of a weight are combined.
      towers: number of towers.

    Returns:
      The combining of the mean; the same one if no constant divides the sum by the number of towers, or that rounds.
    """
    if combine.kind != "sum" or combine.affine or not combine.divided or division_rounds(towers):
        return combine
    factors = factors_on_sum(graph, imported_graph(graph), combine, towers)
    if not factors or abs(factors[-1].value * towers - 1) > TOLERANCE:
        return combine
    return dataclasses.replace(combine, tensor=TensorId(factors[-1].node, 0).name, scale=1.0 / towers)
