"""Hazard of a model of the next number of a series whose convolution reads later numbers, too."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.data.future import slice_of_times
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that move results along the times, or join them, so that it is not known what they have read.
_MOVES = ("Pad", "PadV2", *op_types.JOINS, "Slice", "StridedSlice", "Mean", "Sum", "Max", "MaxPool", "Switch", "Enter")


def series_read_ahead(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds errors of x[:, 1:] predicted from x[:, :-1] by a convolution that is centered in time; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(name)]:
        inputs = graph.inputs(name)[:2]
        for target, result in (inputs, inputs[::-1]):
            predicted = slice_of_times(graph, source_of_elements(graph, target))
            if predicted is None or result.node not in made_by_weights(whole) or target.node in made_by_weights(whole):
                continue
            convolution = _centered_on_earlier(whole, result, predicted)
            if convolution:
                yield Hazard(
                    "WORDS_READ_AHEAD",
                    convolution,
                    f"{name} compares predictions with the next numbers of {predicted[0].node}, and {convolution} "
                    "(SAME) is centered: each result has read the number that it is to predict",
                    "pad the first times by the width less one, and use VALID; for parity keep it",
                )
                return


def _centered_on_earlier(whole: WholeGraph, result: TensorId, predicted: tuple[TensorId, int]) -> str:
    """The first centered convolution along time between earlier numbers of a series and a result; "" if none."""
    graph = whole.graph
    before = graph.ancestors([result.node], controls=False)
    slices = [name for name in before if graph.type(name) == "StridedSlice"]
    found = {name: slice_of_times(graph, TensorId(name, 0)) for name in slices}
    read = [name for name, one in found.items() if one is not None and one[0] == predicted[0] and one[1] < predicted[1]]
    behind = graph.descendants(read, controls=False) & before if read else set()
    for name in [name for name in graph.nodes if name in behind and _is_centered(whole, name)]:
        later = graph.descendants([name], controls=False) & before - {name}
        if not any(graph.type(node) in _MOVES and not _keeps_times(whole, node) for node in later):
            return name
    return ""


def _is_centered(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a convolution with SAME padding whose weight is wider than one along one dimension."""
    graph = whole.graph
    if graph.type(name) != "Conv2D" or is_gradient_op(name) or graph.nodes[name].attr["padding"].s != b"SAME":
        return False
    weight = graph.inputs(name)[1].node
    while graph.type(weight) in ("ExpandDims", "Reshape"):
        weight = graph.inputs(weight)[0].node
    variable = variable_read(graph, weight)
    sizes = variable_sizes(graph, variable)[:-2] if variable else []
    return sum(size > 1 for size in sizes) == 1


def _keeps_times(whole: WholeGraph, name: str) -> bool:
    """Whether a node computes with sizes alone, or takes all times."""
    graph = whole.graph
    if graph.type(name) != "StridedSlice":
        return False
    attributes = graph.nodes[name].attr
    is_all = bool(attributes["begin_mask"].i & attributes["end_mask"].i & 2)
    return hands_elements_on(graph, name) or is_all or graph.type(graph.inputs(name)[0].node) in op_types.SHAPE_OPS
