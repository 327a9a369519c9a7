"""The rows of what a tower takes that its loss depends on: a slice of them, or those that a mask chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import FrozenSet, NamedTuple, Union

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.parts import split_dimension
from legacy.saved.inputs.rows_used import rows_of_slice
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Phase


class TrainedRows(NamedTuple):
    """A part of a tower's rows.

    Attributes:
      number: the number of rows; 0 where they differ from step to step.
      chosen_by: the op that chooses them by a mask; "" of a fixed part.
    """

    number: int
    chosen_by: str = ""


#: Rows that a node takes: their numbers, or the name of the op that chooses them.
_Taken = Union[TrainedRows, FrozenSet[int]]


def trained_rows(analysed: AnalysedStep) -> TrainedRows | None:
    """Returns the part of its rows that the first tower trains on; None where it is all of them, or not known."""
    found = {_of_phase(analysed, phase) for phase in analysed.phases if phase.losses}
    return found.pop() if len(found) == 1 else None


def _of_phase(analysed: AnalysedStep, phase: Phase) -> TrainedRows | None:
    """The part of the rows through which alone data reach the first tower's losses; None if there is none."""
    graph, batch = analysed.graph, analysed.plan.batch
    losses = [parse_tensor_name(row[0]).node for row in (phase.losses, *phase.other_losses) if row and row[0]]
    before = graph.ancestors(losses, controls=False)
    entries = [entry for entry in analysed.plan.inputs if entry.has_examples and entry.tensors[0]]
    starts = [parse_tensor_name(entry.tensors[0]) for entry in entries]
    starts = [one for one in starts if one.node in before and (analysed.imported.shape(*one) or ())[:1] == (batch,)]
    cuts = {name: taken for tensor in starts for name, taken in _cuts(analysed, tensor, before)}
    measured = {name for name in before if graph.type(name) in op_types.SHAPE_OPS}
    whole = graph.ancestors(losses, {*cuts, *measured}, controls=False) - set(cuts)
    if not cuts or batch is None or any(tensor.node in whole for tensor in starts):
        return None
    parts = set(cuts.values())
    chosen = [part for part in parts if isinstance(part, TrainedRows)]
    if chosen:
        return chosen[0] if len(parts) == 1 else None
    rows = frozenset().union(*(part for part in parts if not isinstance(part, TrainedRows)))
    return TrainedRows(len(rows)) if len(rows) < batch else None


def _cuts(analysed: AnalysedStep, start: TensorId, members: set[str]) -> Iterator[tuple[str, _Taken]]:
    """Yields (node, its rows) of the nodes that take rows of a tensor, or of what has a row for each of its rows."""
    graph, imported = analysed.graph, analysed.imported
    todo, seen = [start], {start}
    while todo:
        tensor = todo.pop()
        for use in graph.users(tensor.node):
            if use.output != tensor.output or use.node not in members:
                continue
            is_data = use.position == op_types.divided_input(graph.type(use.node))
            taken = _rows_taken(graph, imported, use.node, members) if is_data else None
            after = TensorId(use.node, 0)
            if taken is not None:
                yield use.node, taken
            elif after not in seen and _keeps_rows(graph, imported, tensor, after):
                seen.add(after)
                todo.append(after)


def _keeps_rows(graph: Graph, imported: ImportedGraph, tensor: TensorId, after: TensorId) -> bool:
    """Whether a tensor has a row for each row of one that it is computed from."""
    rows, shape = (imported.shape(*tensor) or ())[:1], imported.shape(*after) or ()
    if graph.type(after.node) == "Reshape" and shape != imported.shape(*tensor):
        return False
    return graph.type(after.node) not in ("Transpose", *op_types.SHAPE_OPS) and shape[:1] == rows


def _rows_taken(graph: Graph, imported: ImportedGraph, name: str, members: set[str]) -> _Taken | None:
    """The rows that a node takes of its input; None if it takes none, or parts of them."""
    kind, inputs = graph.type(name), graph.inputs(name)
    shape, made = imported.shape(*inputs[op_types.divided_input(graph.type(name))]), imported.shape(name)
    if not shape or not made or shape[0] is None or made[1:] != shape[1:] or len(made) != len(shape):
        return None
    if kind == "Split" and split_dimension(graph, imported, name) == 0 and made[0]:
        used = {use.output for use in graph.users(name) if use.node in members}
        return frozenset(row for output in used for row in range(output * made[0], (output + 1) * made[0]))
    if kind in op_types.GATHERS and made[0] is None:
        chooses = graph.origin(inputs[1])
        while graph.type(chooses.node) in ("Squeeze", "Reshape", "Identity"):
            chooses = graph.inputs(chooses.node)[0]
        return TrainedRows(0, chooses.node) if graph.type(chooses.node) == "Where" else None
    return rows_of_slice(graph, imported, name)
