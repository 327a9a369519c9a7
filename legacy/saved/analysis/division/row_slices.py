"""Slices that take a tower's rows and, along other dimensions, up to a bound that the tower computes.

`words[a:b, :longest]` becomes `words[a:b][:, :longest]`: the first slice divides the batch, as the input pipeline does,
and the second one, whose bound is computed from the tower's own data, is a part of the tower.
"""

from __future__ import annotations

import collections
from collections.abc import Collection

from legacy.saved.analysis.division.places import (
    first_places,
    keeps_dimensions,
    known_places,
    mask_of,
    places_from_zero,
)
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy

_ALL = ("begin_mask", "end_mask")


def with_row_slices(graph: Graph, trained: Collection[str]) -> Graph:
    """Returns a graph in which such slices of data are two; the same graph if it has none.

    Args:
      graph: the subgraph that a step runs.
      trained: names of the variables that it trains, of which data do not depend.
    """
    names = _slices_of_rows(graph, trained)
    if not names:
        return graph
    result = GraphCopy(graph)
    for name in names:
        node = result.nodes[name]
        rows = result.add_copy(node, f"{name}/rows")
        places = graph.inputs(name)[1:4]
        made = [first_places(graph, one, 1, f"{rows.name}/first_{i}", result) for i, one in enumerate(places)]
        rows.input[1:4] = made
        node.input[0] = rows.name
        node.input[1:3] = [
            places_from_zero(graph, one, f"{name}/from_zero_{i}", result) for i, one in enumerate(places[:2])
        ]
        for mask in _ALL:
            rows.attr[mask].i &= 1
            node.attr[mask].i |= 1
    return result.graph()


def _slices_of_rows(graph: Graph, trained: Collection[str]) -> list[str]:
    """Returns the slices of data by constant rows and computed bounds along another dimension.

    Where all of one tensor take the same rows, they do not divide the batch, and stay as they are.
    """
    found: dict[TensorId, dict[str, tuple[int, ...]]] = collections.defaultdict(dict)
    for name, node in graph.nodes.items():
        if node.op == "StridedSlice" and keeps_dimensions(node):
            rows = _rows(graph, name)
            if rows:
                found[graph.inputs(name)[0]][name] = rows
    divided = [whole for whole, slices in found.items() if len(set(slices.values())) > 1]
    return [name for whole in divided if _is_data(graph, whole.node, trained) for name in found[whole]]


def _rows(graph: Graph, name: str) -> tuple[int, ...]:
    """The rows that a slice takes, if they are constant and a bound of another dimension is computed: masks, bounds."""
    begin, end, strides = (known_places(graph, place) for place in graph.inputs(name)[1:4])
    first = [*begin[:1], *end[:1]]
    masks = [mask_of(graph.nodes[name], mask) & 1 for mask in _ALL]
    if len(first) < len(_ALL) or strides[:1] != [1] or all(masks) or None not in (*begin, *end):
        return ()
    return tuple(masks + [bound for bound in first if bound is not None]) if None not in first else ()


def _is_data(graph: Graph, name: str, trained: Collection[str]) -> bool:
    """Whether a node is computed from data, and from nothing that is trained."""
    before = graph.ancestors([name], controls=False)
    return before.isdisjoint(trained) and any(op_types.is_source(graph.type(one)) for one in before)
