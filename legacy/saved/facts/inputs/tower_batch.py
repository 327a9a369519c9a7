"""The number of a tower's examples, as the graph tells it."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.tower_search.batch_slices import SLICES
from legacy.saved.tower_search.inputs import constant_part, part_of_each_slice, split_dimension
from legacy.saved.tower_search.rows_used import rows_used
from workloads.lifted.graph import parse_tensor_name


def batch_of_tower(analysed: AnalysedStep) -> str:
    """Returns the number of a tower's examples, or that of the graph's own slices, or that its inputs leave it open."""
    divided = _divided_behind_the_first(analysed)
    if divided is not None:
        size, dimension, name = divided
        return f"{'any' if size is None else size}, along dimension {dimension} of {name}"
    if analysed.plan.batch is not None:
        return _unequal_parts(analysed) or _rows_of_inputs(analysed) or str(analysed.plan.batch)
    if not any(entry.has_examples for entry in analysed.plan.inputs):
        return "-"  # examples that are constants, or inputs that no tower has a part of
    part = _part_of_slices(analysed)
    return "its inputs take any" if part is None else f"{part}, by the old graph's slices; its inputs take any"


def examples_of_tower(analysed: AnalysedStep) -> int | None:
    """Returns the number of a tower's examples; None where it is open, or inputs have several rows for an example.

    Slices of constant bounds tell it where the input takes any number.
    """
    divided = _divided_behind_the_first(analysed)
    if divided is not None:
        return divided[0]
    if _rows_of_inputs(analysed):
        return None
    return _part_of_slices(analysed) if analysed.plan.batch is None else analysed.plan.batch


def _part_of_slices(analysed: AnalysedStep) -> int | None:
    """The number of examples that constant slices give each tower of an input; None where they give no one number."""
    rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in analysed.plan.inputs]
    imported = analysed.imported
    parts = {part for part in (constant_part(analysed.graph, imported, row) for row in rows) if part}
    whole = {tensor for row in rows for tensor in row}
    parts = parts or {part for part in (part_of_each_slice(analysed.graph, imported, one) for one in whole) if part}
    return parts.pop() if len(parts) == 1 else None


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
    """Returns (a tower's examples, dimension, input) where a split of another dimension than the first deals them."""
    imported = analysed.imported
    for entry in analysed.plan.inputs:
        node = parse_tensor_name(entry.tensors[0]).node
        dimension = split_dimension(analysed.graph, imported, node) if len(set(entry.tensors)) > 1 else 0
        if dimension:
            return (entry.shape or [])[dimension], dimension, entry.name
    return None
