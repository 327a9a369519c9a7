"""Hazards of how a batch is dealt to towers: rows that several towers take, and rows that none takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import parse_tensor_name
from workloads.support.wording import FEW, listed


def dealt_rows(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds inputs whose slices overlap, or leave rows out; one hazard for all inputs that are sliced alike."""
    groups: dict[tuple[tuple[int, int], ...], list[tuple[str, int | None]]] = {}
    for entry in found.plan.inputs if found.plan.towers > 1 else []:
        nodes = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        rows = [_rows(found, name) for name in nodes]
        known = [part for part in rows if part is not None]
        if len(known) == found.plan.towers and len({source for source, _, _, _ in known}) == 1:
            parts = tuple((first, last) for _, first, last, _ in known)
            groups.setdefault(parts, []).append((known[0][0], known[0][3]))
    for parts, sources in groups.items():
        yield from _of_parts(parts, list(dict.fromkeys(name for name, _ in sources)), sources[0][1])


def parts_of_no_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds splits of a batch with a part that no op takes, as where there is a tower less than there are parts."""
    graph = whole.graph
    for name in graph.nodes:
        kind = graph.type(name)
        if name not in whole.reach or kind not in op_types.SPLITS or name not in whole.data:
            continue
        axis = whole.value(graph.inputs(name)[0 if kind == "Split" else 2].node)
        before = graph.ancestors([name], controls=False)
        if axis != 0 or any(graph.type(node) in op_types.VARIABLES for node in before):
            continue
        count = graph.nodes[name].attr["num_split"].i
        used = {output for _, _, output in graph.users(name)}
        idle = sorted(set(range(count)) - used)
        if idle and len(used) == whole.count > 1:
            yield Hazard(
                "ROWS_LEFT_OUT",
                name,
                f"{name} cuts a batch into {count} parts, {whole.count} towers take one each, and nothing takes part "
                f"{', '.join(map(str, idle))}",
                "a distributed dataset deals all rows; for parity, leave out the same part",
            )
            return


def dropped_remainder(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds open batches of which each tower takes a whole quotient of the rows, and the last one no more."""
    for entry in found.plan.inputs if found.plan.towers > 1 else []:
        names = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        if any(whole.graph.type(name) != "StridedSlice" for name in names if name in whole.graph.nodes):
            continue
        parts = [_multiples(whole, name) for name in names if name in whole.graph.nodes]
        quotients = {quotient for quotient, _, _ in parts}
        bounds = [(first, last) for _, first, last in parts]
        if len(quotients) == 1 and "" not in quotients and bounds == [(n, n + 1) for n in range(found.plan.towers)]:
            (quotient,) = quotients
            source = whole.graph.inputs(names[0])[0].node
            yield Hazard(
                "ROWS_LEFT_OUT",
                source,
                f"each of {found.plan.towers} towers takes {quotient} rows of {source}, a quotient without its rest: "
                f"of a batch that is no multiple of {found.plan.towers}, the last rows are in no tower",
                "a distributed dataset deals all rows; for parity, give batches that can be divided",
            )
            return


def _multiples(whole: WholeGraph, name: str) -> tuple[str, int, int]:
    """(n, i, j) of a slice x[i * n : j * n] where n is the number of rows of x divided by a number; or ("", 0, 0)."""
    graph = whole.graph
    bounds = [_factors(whole, tensor.node) for tensor in graph.inputs(name)[1:3]]
    masks = graph.nodes[name].attr["end_mask"].i & 1
    if masks or any(bound is None for bound in bounds):
        return "", 0, 0
    (first, quotient), (last, other) = ((int(bound[0]), bound[1]) for bound in bounds if bound is not None)
    quotient = quotient or other
    is_rows = graph.type(quotient) in ("FloorDiv", "TruncateDiv", "Div") and quotient == other
    sized = graph.ancestors([graph.inputs(quotient)[0].node], controls=False) if is_rows else set()
    shapes = [node for node in sized if graph.type(node) == "Shape"]
    source = graph.inputs(name)[0]
    return (quotient, first, last) if shapes and graph.inputs(shapes[0])[0] == source else ("", 0, 0)


def _factors(whole: WholeGraph, name: str) -> tuple[float, str] | None:
    """(i, n) of a bound i * n, with "" for n where i is 0; None for any other bound."""
    graph = whole.graph
    while graph.type(name) in ("Pack", "Identity", "Cast", "ExpandDims", "Reshape") and graph.inputs(name):
        name = graph.inputs(name)[0].node
    if whole.value(name) == 0:
        return 0, ""
    if graph.type(name) != "Mul":
        return (1, name) if graph.type(name) in ("FloorDiv", "TruncateDiv", "Div") else None
    factors = [tensor.node for tensor in graph.inputs(name)]
    numbers = [whole.value(factor) for factor in factors]
    for number, other in zip(numbers, reversed(factors)):
        if number is not None:
            return number, other
    return None


def _of_parts(parts: Sequence[tuple[int, int]], names: Sequence[str], size: int | None) -> Iterator[Hazard]:
    taken = [row for first, last in parts for row in range(first, last)]
    which = ", ".join(f"{first} to {last - 1}" for first, last in parts)
    text = f"the towers take rows {which} of {listed(list(names), FEW)}"
    missing = sorted(set(range(size)) - set(taken)) if size is not None else []
    lost = f", and none takes {len(missing)} of its {size}" if missing else ""
    if len(set(parts)) > 1 and len(taken) > len(set(taken)):
        advice = "a distributed dataset gives each replica rows of its own; for parity, deal the rows so"
        yield Hazard("ROWS_OVERLAP", names[0], f"{text}: some rows count more than once{lost}", advice)
    elif lost:
        advice = "a distributed dataset deals all rows; for parity, leave out the same ones"
        yield Hazard("ROWS_LEFT_OUT", names[0], text + lost, advice)


def _rows(found: Analysis, name: str) -> tuple[str, int, int, int | None] | None:
    """(source, first row, row after the last one, rows of the source) of a slice with constant bounds; else None."""
    graph, imported = found.cut.graph, found.context.imported
    if name not in graph.nodes or graph.type(name) != "StridedSlice":
        return None
    source, *places = graph.inputs(name)[:4]
    bounds = [imported.constant(*tensor) for tensor in places]
    shape = imported.shape(*source)
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
    return None if stride != 1 or (negative and size is None) or last <= first else (source.node, first, last, size)
