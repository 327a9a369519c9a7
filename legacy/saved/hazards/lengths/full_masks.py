"""Hazard of a mask by hand that compares the positions with their number, and not with the lengths."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId

#: Comparisons that are the same for all positions, by which of their inputs is the number of positions.
_COMPARISONS = {"Less": 1, "GreaterEqual": 1, "Greater": 0, "LessEqual": 0}
#: Ops that hand a number on, or repeat it.
_COPIES = ("Identity", "Enter", "RefEnter", "Cast", "Tile", *op_types.VIEWS)


def masks_of_all_positions(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds comparisons of 0, 1, ..., n - 1 with n, such as `tf.range(n) < n`, that a loss depends on; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops(*_COMPARISONS):
        inputs = [_behind_copies(graph, tensor) for tensor in graph.inputs(name)]
        count = _COMPARISONS[graph.type(name)]
        positions, number = inputs[1 - count].node, inputs[count]
        if graph.type(positions) != "Range" or not _counts_from_zero(whole, positions):
            continue
        if _behind_copies(graph, graph.inputs(positions)[1]) == number and graph.type(number.node) != "Const":
            yield Hazard(
                "MASK_OF_ALL_POSITIONS",
                name,
                f"{name} compares the positions 0, 1, ..., n - 1 of {positions} with their own number n, "
                f"{number.node}, and so is the same for all: nothing is masked, padding neither",
                "compare them with each example's length, as tf.sequence_mask does; for parity leave it out",
            )
            return


def _behind_copies(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns what a tensor is a copy of, perhaps in another shape or repeated."""
    while graph.type(tensor.node) in _COPIES:
        tensor = graph.inputs(tensor.node)[0]
    return tensor


def _counts_from_zero(whole: WholeGraph, name: str) -> bool:
    """Whether a Range begins at 0 and rises by 1."""
    start, _, step = whole.graph.inputs(name)
    return whole.value(start.node) == 0 and whole.value(step.node) == 1
