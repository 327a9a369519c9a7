"""Describes what enters the towers: from which placeholder or data source, in what shape, and within which bounds."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.integer_bounds import upper_bound
from legacy.saved.tower_search.settings import is_scalar_setting
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.plan import Input


def describe_inputs(
    graph: Graph,
    imported: ImportedGraph,
    origins: Mapping[str, tuple[str, str]],
    rows: Sequence[Sequence[TensorId]],
    batch: int | None,
    taken: set[str],
    common: bool = False,
) -> list[Input]:
    """Describes tensors that bring data in.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      origins: {placeholder: (tensor that it replaces, op type)}; see `cone.Cone`.
      rows: for each input, its tensors: one a tower, or a single one.
      batch: number of a tower's examples, or None if it is open.
      taken: names of inputs that are in use already; those of the result are added.
      common: whether the inputs belong to no tower.

    Returns:
      One `Input` a row, named after its only placeholder where that name is free, else after its first tensor.
    """
    found = []
    for row in rows:
        name, output = row[0]
        source, origin = _origin(graph, imported, origins, name)
        if source in taken:
            source = name if name not in taken else tensor_name(name, output)
        taken.add(source)
        shape, dtype = imported.shape(name, output), imported.dtype(name, output)
        is_integer = dtype.startswith(("int", "uint"))
        found.append(
            Input(
                name=source,
                dtype=dtype,
                shape=None if shape is None else list(shape),
                kind=_kind(row, shape, batch, common),
                limit=upper_bound(graph, imported, row[0]) if is_integer else 0,
                tensors=[tensor_name(*tensor) for tensor in row],
                origin=origin,
            )
        )
    return found


def batch_size(imported: ImportedGraph, rows: Sequence[Sequence[TensorId]]) -> int | None:
    """Returns the first dimension that most inputs of a tower share; None if that is open, or if there is no input."""
    sizes: collections.Counter[int | None] = collections.Counter()
    for row in rows:
        shape = imported.shape(*row[0])
        is_own = len(set(row)) == len(row)
        if shape and is_own:
            sizes[shape[0]] += 1
    return sizes.most_common(1)[0][0] if sizes else None


def _kind(row: Sequence[TensorId], shape: tuple[int | None, ...] | None, batch: int | None, common: bool) -> str:
    """Returns `Input.kind`: "setting", "same" (one tensor for all towers), "batch", or "whole"."""
    if shape in ((), None):  # a placeholder without any shape is more likely a learning rate than a batch
        return "setting"
    if common or (len(row) > 1 and len(set(row)) == 1):
        return "same"
    return "batch" if shape[0] in (None, batch) else "whole"


def _origin(
    graph: Graph, imported: ImportedGraph, origins: Mapping[str, tuple[str, str]], name: str
) -> tuple[str, str]:
    """Returns the placeholder that a node's data come from, and the tensor of the whole graph that it replaces.

    If the data come from several placeholders or from none: the node itself, and its first output.
    """
    if name in origins:
        return name, origins[name][0]
    shapes = {node for node in graph.nodes if graph.type(node) in op_types.SHAPE_OPS}  # a size is no source of data
    before = [node for node in graph.ancestors([name], shapes, controls=False) if node in origins]
    before = [node for node in before if not is_scalar_setting(graph, imported, node)]
    if len(before) == 1:
        return before[0], origins[before[0]][0]
    return name, tensor_name(name, 0)
