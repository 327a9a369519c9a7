"""The number of a tower's examples, as the graph tells it."""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.inputs.datasets import rows_of_batches
from legacy.saved.facts.inputs.indexed_parts import indexed_part
from legacy.saved.facts.inputs.joined_rows import rows_of_joined
from legacy.saved.facts.inputs.reshaped_rows import rows_of_reshapes
from legacy.saved.facts.inputs.trained_rows import trained_rows
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.parts import (
    constant_part,
    dealt_dimension,
    equal_slices,
    is_indexed,
    is_time_first,
    split_dimension,
)
from legacy.saved.inputs.rows_used import rows_used, users_of_values
from legacy.saved.tower_search.batch_slices import SLICES
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan.step_inputs import Input
from workloads.support.wording import counted

#: Ops that make masks and lengths of numbers of words.
_MEASURES = ("Cast", "Equal", "Greater", "NotEqual", "Sign")


def batch_of_tower(analysed: AnalysedStep) -> str:
    """Returns the number of a tower's examples, or that of the graph's own slices, or that its inputs leave it open."""
    divided = _divided_behind_the_first(analysed)
    if divided is not None:
        size, dimension, name = divided
        return f"{'any' if size is None else size}, along dimension {dimension} of {name}"
    if analysed.plan.batch is not None:
        return _unequal_parts(analysed) or _rows_of_inputs(analysed) or indexed_part(analysed) or _rows_text(analysed)
    if not any(entry.has_examples for entry in analysed.plan.inputs):
        return "-"  # examples that are constants, or inputs that no tower has a part of
    for maker, number in (("slices", _part_of_slices(analysed)), ("dataset", _part_of_dataset(analysed))):
        if number is not None:
            return f"{number}, by the old graph's {maker}; its inputs take any"
    reshaped = rows_of_reshapes(analysed)
    if reshaped is not None:
        return f"{reshaped}, by the sizes of a reshape"
    joined = rows_of_joined(analysed)
    return "its inputs take any" if joined is None else f"{joined[0]}, by the rows of {joined[1]}"


def _rows_text(analysed: AnalysedStep) -> str:
    """The number of a tower's examples, and of those of them that it trains on."""
    trained, batch = trained_rows(analysed), str(analysed.plan.batch)
    if trained is None:
        return batch
    if trained.chosen_by:
        return f"{batch}, of which {trained.chosen_by} chooses some"
    return f"{batch}, of which {counted(trained.number, 'trains', 'train')}"


def examples_of_tower(analysed: AnalysedStep) -> int | None:
    """Returns the number of a tower's examples; None where it is open, or none is every tower's or every input's.

    Slices of constant bounds tell it where the input takes any number.
    """
    divided = _divided_behind_the_first(analysed)
    if divided is not None:
        return divided[0]
    if _unequal_parts(analysed) or _rows_of_inputs(analysed) or indexed_part(analysed):
        return None
    if analysed.plan.batch is None:
        return usual_batch(analysed)
    trained = trained_rows(analysed)
    return analysed.plan.batch if trained is None else trained.number or None


def usual_batch(analysed: AnalysedStep) -> int | None:
    """Returns a tower's examples by the old graph's slices, dataset or reshapes where its inputs take any; or None."""
    if analysed.plan.batch is not None or _divided_behind_the_first(analysed) is not None:
        return None
    return _part_of_slices(analysed) or _part_of_dataset(analysed) or rows_of_reshapes(analysed)


def _part_of_dataset(analysed: AnalysedStep) -> int | None:
    """The number of examples that datasets join to what each tower takes, all of it or an equal part; else None."""
    graph, whole, parts = analysed.graph, analysed.whole, set()
    for entry in [entry for entry in analysed.plan.inputs if entry.has_examples]:
        for tensor in map(parse_tensor_name, entry.tensors):
            source = graph.inputs(tensor.node)[1].node if graph.type(tensor.node) == "Split" else tensor.node
            taker = parse_tensor_name(analysed.plan.sources[source]).node if source in analysed.plan.sources else ""
            if taker not in whole.nodes or not whole.type(taker).startswith("IteratorGetNext"):
                return None
            rows = rows_of_batches(whole, whole.origin(whole.inputs(taker)[0]).node)
            count = 1 if source == tensor.node else graph.nodes[tensor.node].attr["num_split"].i
            parts.add(None if rows is None or rows % count else rows // count)
    return parts.pop() if len(parts) == 1 else None


def _part_of_slices(analysed: AnalysedStep) -> int | None:
    """The number of examples that constant slices give each tower of an input; None where they give no one number."""
    rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in analysed.plan.inputs]
    imported = analysed.imported
    parts = {part for part in (constant_part(analysed.graph, imported, row) for row in rows) if part}
    cut = [equal_slices(analysed.graph, imported, tensor) for tensor in {tensor for row in rows for tensor in row}]
    # One tower that takes several parts, as where its losses are of some each, has the examples of all.
    parts = parts or {size * (number if analysed.plan.towers == 1 else 1) for size, number in filter(None, cut)}
    return parts.pop() if len(parts) == 1 else None if parts else _first_rows(analysed)


def _first_rows(analysed: AnalysedStep) -> int | None:
    """The number of first rows, x[:4], that are all that towers take of inputs of any number of rows; else None.

    What is only compared or cast besides is a mask, or made into lengths.
    """
    graph, imported = analysed.graph, analysed.imported
    found: set[int | None] = set()
    entries = [entry for entry in analysed.plan.inputs if entry.has_examples and entry.shape and not entry.shape[0]]
    for tensor in {parse_tensor_name(name) for entry in entries for name in entry.tensors}:
        slices = [name for name in users_of_values(graph, tensor) if graph.type(name) not in _MEASURES]
        found |= {_rows_of_first_slice(graph, imported, name) for name in slices} or {None}
    return found.pop() if len(found) == 1 else None


def _rows_of_first_slice(graph: Graph, imported: ImportedGraph, name: str) -> int | None:
    """The rows of a slice from the first row on; None of any other node."""
    begin = imported.constant(*graph.inputs(name)[1]) if graph.type(name) in op_types.SLICES else None
    whole, part = (imported.shape(*graph.inputs(name)[0]), imported.shape(name)) if begin is not None else (None, None)
    is_of_first = begin is not None and begin.size > 0 and begin[0] == 0
    return part[0] if is_of_first and whole and part and len(part) == len(whole) else None


def _rows_of_inputs(analysed: AnalysedStep) -> str:
    """The rows of a tower's parts of the inputs, where some have several for one of others; "" where all are alike.

    So it is where frames of a video, or both halves of a pair, are examples' rows.
    """
    rows: dict[int, str] = {}
    for entry in analysed.plan.inputs:
        if entry.kind == "setting" or len(set(entry.tensors)) != analysed.plan.towers:
            continue
        tensors = [parse_tensor_name(name) for name in entry.tensors]
        shapes = [analysed.imported.shape(*tensor) for tensor in tensors]
        sizes = {shape[0] for shape in shapes if shape and shape[0] is not None}
        is_dealt = all(analysed.graph.type(tensor.node) in (*SLICES, "Placeholder") for tensor in tensors)
        along = [split_dimension(analysed.graph, analysed.imported, tensor.node) for tensor in tensors]
        if is_dealt and len(sizes) == 1 and not any(along):
            rows.setdefault(sizes.pop(), entry.name)
    least = min(rows, default=0)
    if len(rows) < 2 or any(number % least for number in rows):
        return ""
    return "rows: " + ", ".join(f"{number} of {name}" for number, name in rows.items())


def _unequal_parts(analysed: AnalysedStep) -> str | None:
    """Returns the numbers of the towers' examples where they are not equal."""
    imported = analysed.imported
    for entry in analysed.plan.inputs:
        used = [rows_used(analysed.graph, imported, parse_tensor_name(name)) for name in entry.tensors]
        sizes = [rows for rows in used if rows is not None]
        if entry.kind == "batch" and len(sizes) == analysed.plan.towers and len(set(sizes)) > 1:
            return ", ".join(map(str, sizes)) + " of the towers in turn"
    return None


def _divided_behind_the_first(analysed: AnalysedStep) -> tuple[int | None, int, str] | None:
    """Returns (a tower's examples, dimension, input) where the examples are along another dimension than the first.

    A split along that dimension deals them, or the first one is that of the time: each use takes one of its places, or
    exchanges it for the second one. So does a batch of sequences of any length for `tf.nn.dynamic_rnn`, and there the
    first dimension is that which a split deals, or that of other inputs, too.
    """
    imported = analysed.imported
    for entry in analysed.plan.inputs:
        row, shape = [parse_tensor_name(name) for name in entry.tensors], entry.shape or []
        tensor, dimension = row[0], 0
        if len(set(row)) > 1:
            dimension = split_dimension(analysed.graph, imported, tensor.node)
            dimension = dimension or dealt_dimension(analysed.graph, imported, row)
        if not dimension and entry.has_examples and _may_have_time_first(analysed, entry, shape):
            dimension = int(any(tell(analysed.graph, imported, tensor) for tell in (is_indexed, is_time_first)))
        if dimension:
            return shape[dimension], dimension, entry.name
    return None


def _may_have_time_first(analysed: AnalysedStep, entry: Input, shape: Sequence[int | None]) -> bool:
    """Tells inputs of a known first and an open second dimension, where nothing says that the first has the examples.

    A split of it says so, and another input of as many rows, all of whose further dimensions are known.
    """
    if len(shape) < 2 or shape[0] is None or shape[1] is not None:
        return False
    tensors = {parse_tensor_name(name) for name in entry.tensors}
    if len(tensors) > 1 and all(analysed.graph.type(tensor.node) in op_types.SPLITS for tensor in tensors):
        return False
    others = [other.shape or [] for other in analysed.plan.inputs if other is not entry and other.has_examples]
    return not any(other[:1] == [shape[0]] and None not in other for other in others)
