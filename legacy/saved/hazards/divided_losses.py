"""Hazard of losses that are divided by the number of towers, and whose gradients are averaged besides."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.hazard import Hazard
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.replication import is_averaged_twice

#: Ops that half of a loss may be written for: 1/2 (y - p)^2.
_SQUARES = ("Square", "SquaredDifference", "L2Loss", "Pow")


def losses_divided_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops whose towers divide their losses by N, and whose gradients are averaged over N besides."""
    count = found.plan.towers
    for phase in found.plan.phases:
        if phase.losses and is_averaged_twice(phase, count):
            loss = parse_tensor_name(phase.losses[0]).node
            if not _has_a_factor_of_its_own(found, loss, count):
                yield Hazard(
                    "LOSS_DIVIDED_TWICE",
                    loss,
                    f"each of the {count} towers divides its loss by {count}, and their gradients are averaged "
                    f"besides: {phase.train_op} takes 1/{count} of the mean loss's gradient",
                    f"divide once; for parity keep both, or give an optimizer that does not normalize 1/{count} of the "
                    "learning rate",
                )


def _has_a_factor_of_its_own(found: Analysis, loss: str, count: int) -> bool:
    """Whether a loss's factor of 1/N may have another meaning: a mean of N terms, or the half of a square."""
    graph, data = found.cut.graph, found.context.data
    sums = [tensor.node for tensor in graph.inputs(loss) if graph.type(tensor.node) in op_types.ADDITIONS]
    terms = [tensor.node for name in sums for tensor in graph.inputs(name) if tensor.node in data]
    if len(terms) == count:
        return True
    return count == 2 and any(graph.type(name) in _SQUARES and name in data for name in graph.ancestors([loss]))
