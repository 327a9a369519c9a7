"""Hazards of how a batch is dealt to towers: rows that several towers take, and rows that none takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import parse_tensor_name
from workloads.support.wording import listed

#: Of inputs, so many are named.
MOST_NAMED = 3


def dealt_rows(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds inputs whose slices overlap, or leave rows out; one hazard for all inputs that are sliced alike."""
    groups: dict[tuple[tuple[int, int], ...], list[tuple[str, int | None]]] = {}
    for entry in found.plan.inputs if found.plan.towers > 1 else []:
        nodes = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        rows = [_rows(whole, found, name) for name in nodes if name in whole.graph.nodes]
        known = [part for part in rows if part is not None]
        if len(known) == found.plan.towers and len({source for source, _, _, _ in known}) == 1:
            parts = tuple((first, last) for _, first, last, _ in known)
            groups.setdefault(parts, []).append((known[0][0], known[0][3]))
    for parts, sources in groups.items():
        yield from _of_parts(parts, list(dict.fromkeys(name for name, _ in sources)), sources[0][1])


def _of_parts(parts: Sequence[tuple[int, int]], names: Sequence[str], size: int | None) -> Iterator[Hazard]:
    taken = [row for first, last in parts for row in range(first, last)]
    which = ", ".join(f"{first} to {last - 1}" for first, last in parts)
    text = f"the towers take rows {which} of {listed(list(names), MOST_NAMED)}"
    missing = sorted(set(range(size)) - set(taken)) if size is not None else []
    lost = f", and none takes {len(missing)} of its {size}" if missing else ""
    if len(set(parts)) > 1 and len(taken) > len(set(taken)):
        advice = "a distributed dataset gives each replica rows of its own; for parity, deal the rows so"
        yield Hazard("ROWS_OVERLAP", names[0], f"{text}: some rows count more than once{lost}", advice)
    elif lost:
        advice = "a distributed dataset deals all rows; for parity, leave out the same ones"
        yield Hazard("ROWS_LEFT_OUT", names[0], text + lost, advice)


def _rows(whole: WholeGraph, found: Analysis, name: str) -> tuple[str, int, int, int | None] | None:
    """(source, first row, row after the last one, rows of the source) of a slice with constant bounds; else None."""
    graph, imported = whole.graph, found.context.imported
    if graph.type(name) != "StridedSlice" or name not in found.cut.graph.nodes:
        return None
    source = graph.inputs(name)[0].node
    bounds = [imported.constant(*tensor) for tensor in found.cut.graph.inputs(name)[1:4]]
    shape = imported.shape(*found.cut.graph.inputs(name)[0])
    attributes = graph.nodes[name].attr
    masks = attributes["new_axis_mask"].i | attributes["shrink_axis_mask"].i | attributes["ellipsis_mask"].i
    known = [int(np.ravel(bound)[0]) for bound in bounds if bound is not None and np.size(bound)]
    if len(known) < len(bounds) or masks & 1 or not shape:
        return None
    (first, last, stride), size = known, shape[0]
    if attributes["begin_mask"].i & 1:
        first = 0
    if attributes["end_mask"].i & 1 or (size is not None and last > size):
        last = -1 if size is None else size
    negative = first < 0 or last < 0
    if negative and size is not None:
        first, last = first % size, last % size if last < 0 else last
    return None if stride != 1 or (negative and size is None) or last <= first else (source, first, last, size)
