"""Hazard of a smoothness loss that has the differences of neighbours along one dimension alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Tuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: (first element, end) of a slice along a dimension; None for an end that is left open.
_Bounds = Tuple[int, "int | None"]


def smoothed_one_way(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds differences of neighbours that no op takes, of results of which a loss has others; one hazard for all.

    Differences of differences are left alone: a program may compute all of these, and take some.
    """
    graph = whole.graph
    subtracted = [name for name in graph.of_types("Sub") if not is_gradient_op(name)]
    found = {name: axis for name in subtracted for axis in [_axis_of_neighbours(graph, name)] if axis}
    used = {found[name]: name for name in found if name in whole.minimized}
    for name, (source, axis) in found.items():
        others = sorted(other for tensor, other in used if tensor == source and other != axis)
        if not others or (source, axis) in used or source.node in found or not _leads_nowhere(whole, name):
            continue
        if graph.ancestors([source.node], controls=False) & whole.trainable:
            yield Hazard(
                "SMOOTHED_ONE_WAY",
                name,
                f"{name} computes differences of neighbors in {source.node} along dimension {axis}, and its result is "
                f"not used; the loss has those along dimension {others[0]} alone, as {used[source, others[0]]}",
                "add the terms of the other dimension, which may be later elements of a list; for parity leave them "
                "out",
            )
            return


def _leads_nowhere(whole: WholeGraph, name: str) -> bool:
    """Whether no step, summary or output of the program is computed from a node, as far as the graph tells."""
    behind = whole.graph.descendants([name])
    shown = any("Summary" in whole.graph.type(one) or whole.graph.type(one).startswith("Print") for one in behind)
    return not shown and behind.isdisjoint(whole.minimized) and behind.isdisjoint(whole.members)


def _axis_of_neighbours(graph: Graph, name: str) -> tuple[TensorId, int] | None:
    """(x, dimension) of a node that subtracts x less its last elements and x less its first ones; else None."""
    parts = [_slice(graph, graph.origin(tensor)) for tensor in graph.inputs(name)[:2]]
    known = [part for part in parts if part is not None]
    if len(known) < 2 or known[0][0] != known[1][0]:
        return None
    (source, first), (_, second) = known
    size = max(len(first), len(second))
    pairs = list(zip(*(bounds + [(0, None)] * (size - len(bounds)) for bounds in (first, second))))
    apart = [axis for axis, (one, other) in enumerate(pairs) if one != other]
    is_shift = len(apart) == 1 and {pairs[apart[0]][0][0], pairs[apart[0]][1][0]} == {0, 1}
    return (source, apart[0]) if is_shift else None


def _slice(graph: Graph, tensor: TensorId) -> tuple[TensorId, list[_Bounds]] | None:
    """(x, bounds along its first dimensions) of a slice with constant bounds, that keeps all dimensions; else None."""
    if graph.type(tensor.node) != "StridedSlice":
        return None
    attributes = graph.nodes[tensor.node].attr
    masks = [attributes[key].i for key in ("shrink_axis_mask", "new_axis_mask", "ellipsis_mask")]
    begin, end, strides = (constant_array(graph, given.node) for given in graph.inputs(tensor.node)[1:4])
    if any(masks) or begin is None or end is None or strides is None or (strides != 1).any():
        return None
    bounds = [
        (
            0 if attributes["begin_mask"].i >> axis & 1 else int(begin.ravel()[axis]),
            None if attributes["end_mask"].i >> axis & 1 else int(end.ravel()[axis]),
        )
        for axis in range(begin.size)
    ]
    return graph.origin(graph.inputs(tensor.node)[0]), bounds
