"""The number of a tower's examples, as the graph tells it."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.tower_search.inputs import constant_part, part_of_each_slice, split_dimension
from workloads.lifted.graph import parse_tensor_name


def batch_of_tower(analysed: AnalysedStep) -> str:
    """Returns the number of a tower's examples, or that of the graph's own slices, or "any"."""
    divided = _divided_behind_the_first(analysed)
    if divided is not None:
        return divided
    if analysed.plan.batch is not None:
        return _unequal_parts(analysed) or str(analysed.plan.batch)
    if not any(entry.has_examples for entry in analysed.plan.inputs):
        return "-"  # examples that are constants, or inputs that no tower has a part of
    rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in analysed.plan.inputs]
    imported = analysed.imported
    parts = {part for part in (constant_part(analysed.graph, imported, row) for row in rows) if part}
    whole = {tensor for row in rows for tensor in row}
    parts = parts or {part for part in (part_of_each_slice(analysed.graph, imported, one) for one in whole) if part}
    return f"{parts.pop()}, by the old graph's slices; its inputs take any" if len(parts) == 1 else "any"


def _unequal_parts(analysed: AnalysedStep) -> str | None:
    """Returns the numbers of the towers' examples where they are not equal."""
    imported = analysed.imported
    for entry in analysed.plan.inputs:
        shapes = [imported.shape(*parse_tensor_name(name)) for name in entry.tensors]
        sizes = [shape[0] for shape in shapes if shape and shape[0] is not None]
        if entry.kind == "batch" and len(sizes) == analysed.plan.towers and len(set(sizes)) > 1:
            return ", ".join(map(str, sizes)) + " of the towers in turn"
    return None


def _divided_behind_the_first(analysed: AnalysedStep) -> str | None:
    """Returns the number of a tower's examples where a split of another dimension than the first deals them."""
    imported = analysed.imported
    for entry in analysed.plan.inputs:
        node = parse_tensor_name(entry.tensors[0]).node
        dimension = split_dimension(analysed.graph, imported, node) if len(set(entry.tensors)) > 1 else 0
        if dimension:
            size = (entry.shape or [])[dimension]
            return f"{'any' if size is None else size}, along dimension {dimension} of {entry.name}"
    return None
