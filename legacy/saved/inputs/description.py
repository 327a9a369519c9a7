"""Describes what enters the towers: from which placeholder or data source, in what shape, and within which bounds."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.integer_bounds import class_limit, least_mark, upper_bound
from legacy.saved.inputs.lengths import are_lengths
from legacy.saved.inputs.open_shapes import known_shape
from legacy.saved.inputs.rows_used import rows_needed
from legacy.saved.inputs.settings import is_array, is_place_of_parts, is_scalar_setting, is_share
from legacy.saved.inputs.sparse_inputs import shape_of_part, sparse_parts
from legacy.saved.inputs.tables import is_table
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.plan import Input, Phase


class InputDescriber:
    """Describes the tensors that bring data into a step; each description has another name.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      origins: {placeholder: (tensor that it replaces, op type)}; see `cone.Cone`.
      batch: number of a tower's examples, or None if it is open.
      shared: whether all towers get the same batch, since none has an input of its own.
    """

    def __init__(
        self,
        graph: Graph,
        imported: ImportedGraph,
        origins: Mapping[str, tuple[str, str]],
        batch: int | None,
        shared: bool = False,
    ) -> None:
        self._graph, self._imported, self._origins, self._batch = graph, imported, origins, batch
        self._shared = shared
        self._taken: set[str] = set()
        self._numbers_of_lengths: set[int] = set()

    def describe(self, rows: Sequence[Sequence[TensorId]], common: bool = False) -> list[Input]:
        """Describes some inputs.

        Args:
          rows: for each input, its tensors: one a tower, or a single one.
          common: whether the inputs belong to no tower.

        Returns:
          One `Input` a row, named after its only placeholder where that name is free, else after its first tensor.
        """
        sparse = sparse_parts(self._graph, self._imported, [row[0] for row in rows])
        self._numbers_of_lengths = _numbers_of_lengths(self._graph, self._imported, rows)
        return [self._input(row, sparse.get(row[0], ""), common) for row in rows]

    def _input(self, row: Sequence[TensorId], sparse: str, common: bool) -> Input:
        graph, imported = self._graph, self._imported
        name, output = row[0]
        source, origin = _origin(graph, imported, self._origins, name)
        if source in self._taken:
            source = name if name not in self._taken else tensor_name(name, output)
        self._taken.add(source)
        dtype, shape = imported.dtype(name, output), known_shape(graph, imported, row[0])
        shape = shape_of_part(sparse) if sparse and shape is None else shape
        is_integer = dtype.startswith(("int", "uint"))
        bound = upper_bound if is_integer else class_limit
        is_size = is_integer and (are_lengths(graph, imported, row[0]) or is_place_of_parts(graph, imported, name))
        kind = self._kind(row, common, bool(sparse))
        return Input(
            name=source,
            dtype=dtype,
            shape=None if shape is None else list(shape),
            kind=kind,
            limit=bound(graph, imported, row[0]),
            tensors=[tensor_name(*tensor) for tensor in row],
            origin=origin,
            sparse=sparse,
            low=1 if is_size else least_mark(graph, imported, row[0]) if dtype.startswith("int") else 0,
            is_share=kind == "setting" and not is_integer and is_share(graph, imported, row[0]),
        )

    def _kind(self, row: Sequence[TensorId], common: bool, is_sparse: bool) -> str:
        """Returns `Input.kind`."""
        graph, imported, tensor = self._graph, self._imported, row[0]
        shape = known_shape(graph, imported, tensor)
        may_be_array = shape is not None or is_sparse or self._is_element(tensor) or is_array(graph, imported, tensor)
        if shape == () and self._is_element(tensor) and not is_sparse and imported.dtype(*tensor).startswith("int"):
            return "same" if common else "whole"  # where the examples stand in a table, as of one text
        if shape == () or not may_be_array:
            return "setting"  # a placeholder without any shape is more likely a learning rate than a batch
        has_rows_of_batch = shape is None or shape[0] in (None, self._batch)
        if shape and _is_time_first(shape, self._numbers_of_lengths & {self._batch}):
            has_rows_of_batch = False
        if common or (len(row) > 1 and len(set(row)) == 1):
            is_batch = self._shared and has_rows_of_batch and not common and not is_sparse
            no_examples = is_batch and (is_only_measured(graph, tensor) or is_table(graph, imported, tensor))
            return "same batch" if is_batch and not no_examples else "same"
        if shape is not None and len(set(row)) == len(row) and is_table(graph, imported, tensor):
            return "whole"
        return "batch" if has_rows_of_batch else "whole"

    def _is_element(self, tensor: TensorId) -> bool:
        """Whether a tensor is a part of a queue's or a dataset's element, which a program does not use for settings."""
        return self._origins.get(tensor.node, ("", ""))[1].startswith(op_types.ELEMENTS)


def batch_size(graph: Graph, imported: ImportedGraph, rows: Sequence[Sequence[TensorId]]) -> int | None:
    """Returns the first dimension that most inputs of a tower share; None if that is open, or if there is no input.

    Where towers have no inputs of their own, those that all of them get tell it: their batch is the same. Inputs of
    any number of rows have as many as constant slices take of one, if nothing else uses them.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      rows: for each input, its tensors, one a tower; parts of sparse tensors and tables do not count.

    Returns:
      The number of a tower's examples, or None.
    """
    sizes: collections.Counter[int | None] = collections.Counter()
    time_major: collections.Counter[int | None] = collections.Counter()
    needed: list[int | None] = []
    sparse = sparse_parts(graph, imported, [row[0] for row in rows])
    numbers = _numbers_of_lengths(graph, imported, rows)
    for row in own_rows(imported, rows) or [row for row in rows if not is_only_measured(graph, row[0])]:
        shape = known_shape(graph, imported, row[0])
        if shape and row[0] not in sparse and not is_table(graph, imported, row[0]):
            is_time = len(shape) > 1 and shape[0] is not None and shape[1] is None
            size = shape[1] if _is_time_first(shape, numbers) else shape[0]
            needed += [rows_needed(graph, imported, row[0])] if size is None else []
            (time_major if is_time else sizes)[size] += 1
    sizes = sizes or time_major
    usual = sizes.most_common(1)[0][0] if sizes else None
    taken = [number for number in needed if number is not None]
    return max(taken) if usual is None and taken and len(taken) == len(needed) else usual


def _numbers_of_lengths(graph: Graph, imported: ImportedGraph, rows: Sequence[Sequence[TensorId]]) -> set[int]:
    """The sizes of the vectors among some inputs that hold the length of each example's sequence."""
    shapes = {row[0]: imported.shape(*row[0]) or () for row in rows}
    vectors = {tensor: shape[0] for tensor, shape in shapes.items() if len(shape) == 1 and shape[0]}
    return {size for tensor, size in vectors.items() if size and are_lengths(graph, imported, tensor)}


def _is_time_first(shape: Sequence[int | None], numbers: Collection[int]) -> bool:
    """Whether an array has a row for each time, of any number, and in it one for each of the sequences with lengths."""
    return len(shape) > 1 and shape[0] is None and shape[1] in numbers


def own_rows(imported: ImportedGraph, rows: Sequence[Sequence[TensorId]]) -> list[Sequence[TensorId]]:
    """Returns the inputs of which each tower has an array of its own.

    Args:
      imported: the graph in TensorFlow.
      rows: for each input, its tensors, one a tower.

    Returns:
      Some of the rows.
    """
    return [row for row in rows if len(set(row)) == len(row) and imported.shape(*row[0]) != ()]


def is_only_measured(graph: Graph, tensor: TensorId, parts: Collection[str] = ()) -> bool:
    """Returns whether only the shape of a tensor is used, as its number of rows: its values do not matter.

    Args:
      graph: the subgraph that a step runs.
      tensor: the tensor.
      parts: nodes that take parts of it, which are inputs themselves.

    Returns:
      False also if nothing uses it but these parts.
    """
    uses = [use.node for use in graph.users(tensor.node) if use.output == tensor.output and use.node not in parts]
    return bool(uses) and {graph.type(name) for name in uses} <= set(op_types.SHAPE_OPS)


def _origin(
    graph: Graph, imported: ImportedGraph, origins: Mapping[str, tuple[str, str]], name: str
) -> tuple[str, str]:
    """Returns the placeholder that a node's data come from, and the tensor of the whole graph that it replaces.

    If the data come from several placeholders or from none: the node itself, and its first output.
    """
    if name in origins:
        return name, origins[name][0]
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))  # a size is no source of data
    before = [node for node in graph.ancestors([name], shapes, controls=False) if node in origins]
    before = [node for node in before if not is_scalar_setting(graph, imported, node)]
    if len(before) == 1:
        return before[0], origins[before[0]][0]
    return name, tensor_name(name, 0)


def is_trained_on(graph: Graph, phases: Sequence[Phase], entry: Input) -> bool:
    """Returns whether an input enters a loss; the batches of an evaluation, say, only move statistics.

    Args:
      graph: the subgraph that a step runs.
      phases: the train ops.
      entry: an input of the towers.

    Returns:
      True also if that is not known.
    """
    losses = [parse_tensor_name(loss).node for phase in phases for loss in phase.losses]
    entering = [parse_tensor_name(tensor).node for tensor in entry.tensors]
    if not all(phase.losses for phase in phases) or not all(name in graph.nodes for name in losses + entering):
        return True
    if not losses or not entering:
        return True
    before = graph.ancestors(losses, controls=False)
    return any(name in before for name in entering)
