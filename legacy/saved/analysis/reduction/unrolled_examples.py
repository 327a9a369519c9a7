"""Sums of what a program computes for one example after another, in a Python loop over `predictions[i]`."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops between the sum and its terms: a loop's result is one term, though its count of rounds is added up within it.
_SUMS = ("Identity", "Cast", "Pack", *op_types.ADDITIONS)


def is_sum_of_each_row(
    graph: Graph, imported: ImportedGraph, data: Collection[str], total: TensorId, batch: int
) -> bool:
    """Tells whether a number adds up terms, each of which is of one example, and together of all of them alike.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      data: its nodes that depend on data.
      total: the number.
      batch: number of examples.

    Returns:
      Whether each term takes one row alone of whatever has a row for each example, and each row has as many terms.
    """
    terms = _terms(graph, data, total)
    if batch < 2 or not terms or len(terms) % batch:
        return False
    counts = dict.fromkeys(range(batch), 0)
    for term in terms:
        rows = _rows(graph, imported, data, term, batch)
        if len(rows) != 1 or None in rows:
            return False
        counts[rows.pop() or 0] += 1
    return set(counts.values()) == {len(terms) // batch}


def _terms(graph: Graph, data: Collection[str], total: TensorId) -> list[str]:
    """The terms of a sum that depend on data."""
    todo, found = [total.node], []
    seen = {total.node}
    while todo:
        name = todo.pop()
        if graph.type(name) not in _SUMS:
            found.append(name)
            continue
        before = [tensor.node for tensor in graph.inputs(name) if tensor.node in data and tensor.node not in seen]
        todo += before
        seen.update(before)
    return found


def _rows(graph: Graph, imported: ImportedGraph, data: Collection[str], term: str, batch: int) -> set[int | None]:
    """The rows that a term takes; None among them, where it takes data in another way."""
    todo, seen = [term], {term}
    rows: set[int | None] = set()
    while todo:
        name = todo.pop()
        row = _row(graph, imported, name, batch)
        behind = [tensor.node for tensor in graph.inputs(name) if tensor.node in data]
        if row is not None or not behind:
            rows.add(row)
            continue
        todo += [before for before in behind if before not in seen]
        seen.update(behind)
    return rows


def _row(graph: Graph, imported: ImportedGraph, name: str, batch: int) -> int | None:
    """The number of the one row that a node takes of what has a row for each example."""
    if graph.type(name) != "StridedSlice" or not graph.nodes[name].attr["shrink_axis_mask"].i & 1:
        return None
    source, begin = graph.inputs(name)[:2]
    shape, first = imported.shape(*source), imported.constant(*begin)
    if not shape or shape[0] != batch or first is None or graph.nodes[name].attr["ellipsis_mask"].i & 1:
        return None
    return int(first[0]) % batch
