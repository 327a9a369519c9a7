"""Hazard of a loss by position of which a part is data alone, joined to what weights compute."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PARTS = ("Split", "SplitV", "StridedSlice", "Slice", "Identity")


def parts_without_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds squares in a loss of data and what weights make of data, joined as a flow's halves are; one for all."""
    graph = whole.graph
    for target in minimized_targets(whole):
        for name in linear_signs(whole, target):
            square = squared(whole, name)
            if square is None or is_gradient_op(name) or not joined_parts(graph, square.node):
                continue
            parts = [_untouched(whole, tensor) for tensor in joined_parts(graph, square.node)]
            if any(parts) and not all(parts):
                yield Hazard(
                    "PART_WITHOUT_WEIGHTS",
                    name,
                    f"{target} contains {name} of {square.node}, a part of which is a part of "
                    f"{next(filter(None, parts))}, data that no weight changes: that part is a constant of the loss",
                    "exchange the two parts from layer to layer, as coupling layers do; for parity keep it",
                )
                return


def _untouched(whole: WholeGraph, tensor: TensorId) -> str:
    """The data that a part is taken from, through joins that are split where they were joined; "" of anything else."""
    graph = whole.graph
    while graph.type(tensor.node) in _PARTS:
        inner = graph.inputs(tensor.node)[op_types.divided_input(graph.type(tensor.node))]
        joined = joined_parts(graph, inner.node)
        if (
            joined
            and graph.type(tensor.node) == "Split"
            and graph.nodes[tensor.node].attr["num_split"].i == len(joined)
        ):
            inner = joined[tensor.output]
        tensor = inner
    return tensor.node if op_types.is_source(graph.type(tensor.node)) else ""
