"""Hazard of an example's components that are all the same part of one array, as where a counter stays at its start.

Images of one scene are joined along their channels, cropped and flipped together, and taken apart again.
"""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId
from workloads.support.wording import counted

#: Ops that treat all that is joined alike, and leave it where it is.
_KEEPS_PLACES = ("Slice", "Merge", "Switch", *op_types.COPIES, *op_types.TURNS, *op_types.CHOICES, *op_types.ARITHMETIC)


def equal_components(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds components that a queue takes and that are one part of joined arrays, of which no op takes the others."""
    graph = whole.graph
    for name in graph.of_types(*op_types.FEEDERS):
        alike: dict[tuple[TensorId, Hashable], list[str]] = collections.defaultdict(list)
        for component in graph.inputs(name):
            cut = graph.origin(component).node
            part = _part(graph, cut)
            if part is not None:
                alike[graph.inputs(cut)[0], part].append(cut)
        for (source, _), cuts in alike.items():
            joined = _joined(graph, source, cuts[0])
            if joined and len(cuts) > 1 and _joins_data(graph, joined) and not _other_uses(graph, source, cuts):
                parts = counted(len(graph.inputs(joined)) - 1, "array")
                yield Hazard(
                    "PART_TAKEN_TWICE",
                    cuts[1],
                    f"{len(cuts)} components of what {name} takes, such as {cuts[0]} and {cuts[1]}, are the same part "
                    f"of {joined}, which joins {parts}, and no op takes the others",
                    "take each array's own part; for parity keep the copies",
                )
                return


def _part(graph: Graph, name: str) -> Hashable:
    """The bounds of a slice that has constant ones; None of any other node."""
    if graph.type(name) not in op_types.SLICES:
        return None
    bounds = [constant_array(graph, tensor.node) for tensor in graph.inputs(name)[1:]]
    if any(bound is None for bound in bounds):
        return None
    masks = tuple(graph.nodes[name].attr[f"{word}_mask"].i for word in ("begin", "end", "ellipsis", "shrink_axis"))
    return graph.type(name), masks, tuple(tuple(bound.ravel().tolist()) for bound in bounds if bound is not None)


def _joined(graph: Graph, source: TensorId, cut: str) -> str:
    """The op that concatenates or stacks a slice's input along a dimension that the slice cuts; "" if there is none."""
    todo, seen = [source.node], {source.node}
    while todo:
        name = todo.pop()
        if graph.type(name) in op_types.JOINS and len(graph.inputs(name)) > 2:
            return name if _is_cut_along(graph, cut, name) else ""
        if graph.type(name) in _KEEPS_PLACES:
            before = {tensor.node for tensor in graph.inputs(name)} - seen
            seen |= before
            todo += before
    return ""


def _joins_data(graph: Graph, joined: str) -> bool:
    """Whether a node joins several arrays that are no constants, as the marks of a sentence's ends are."""
    values = graph.inputs(joined)[1:] if graph.type(joined) == "Concat" else graph.inputs(joined)[:-1]
    return len([tensor for tensor in values if constant_array(graph, tensor.node) is None]) > 1


def _is_cut_along(graph: Graph, cut: str, joined: str) -> bool:
    """Whether a slice takes a part of the dimension along which a node joins arrays."""
    inputs = graph.inputs(joined)
    axis = constant_array(graph, inputs[0 if graph.type(joined) == "Concat" else -1].node)
    begin, end = (constant_array(graph, tensor.node) for tensor in graph.inputs(cut)[1:3])
    if axis is None or begin is None or end is None or not -begin.size <= int(axis) < begin.size:
        return False
    places = range(begin.size)
    if graph.type(cut) == "Slice":
        along = [place for place in places if end.ravel()[place] != -1]
    else:
        masks = [graph.nodes[cut].attr[f"{word}_mask"].i for word in ("begin", "end")]
        along = [place for place in places if not all(mask >> place & 1 for mask in masks)]
    if int(axis) < 0:  # a slice may leave the last dimensions out
        return along == [begin.size + int(axis)] and begin.size > 1
    return int(axis) in along


def _other_uses(graph: Graph, source: TensorId, cuts: list[str]) -> bool:
    """Whether an op uses a tensor's values besides some slices."""
    users = {use.node for use in graph.users(source.node) if use.output == source.output}
    return any(graph.type(user) not in op_types.SHAPE_OPS for user in users - set(cuts))
