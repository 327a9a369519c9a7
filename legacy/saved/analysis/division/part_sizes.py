"""Sizes of the towers' parts that a program computes from the size of the whole batch, `tf.shape(x)[0] // towers`.

A state of zeros for each sequence of a part, or a mean over its examples, needs the number of its rows. It is that of
the tower's own part, at any number of towers, where the graph's number is right for its own alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.division.own_sizes import Copies, device_of_tower
from legacy.saved.analysis.division.parts import StepParts
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import input_text

v1 = tf.compat.v1
#: Rows of one tower that the sizes are computed for; a number that equals both is the number of its rows.
_ROWS = (12, 20)
#: Size of dimensions that the graph leaves open.
_OPEN = 2


def with_part_sizes(graph: Graph, imported: ImportedGraph, steps: Sequence[StepParts]) -> Graph | None:
    """Gives each tower the number of rows of its own part in place of one that is computed from the whole batch.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      steps: the divided train ops.

    Returns:
      The graph; None if no tower uses such a number.
    """
    result, is_changed = GraphCopy(graph), False
    for step in [step for step in steps if len(step.cuts) > 1 and not any(step.returns)]:
        wholes = set(step.cuts[0]).intersection(*step.cuts[1:])
        owners = _owners(graph, step) if wholes else {}
        dealing = graph.ancestors([cut.node for cuts in step.cuts for cut in cuts], controls=False)
        for whole in sorted(tensor for tensor in wholes if graph.type(tensor.node) == "Placeholder"):
            parts, numbers = _sizes_of_parts(graph, imported, step, whole)
            for tower, part in enumerate(parts):
                device = device_of_tower(graph, step, tower)
                rows = _add_rows_of(result, part, imported.dtype(*part), device)
                copies = Copies(graph, dict.fromkeys(numbers, rows), device, tower)
                for name in [name for name, owner in owners.items() if owner == tower and name not in dealing]:
                    for position, tensor in enumerate(graph.inputs(name)):
                        if tensor in numbers or tensor.node not in dealing and tensor.node not in owners:
                            own = copies.tensor(tensor)
                            result.give(name, position, own)
                            is_changed = is_changed or own != tensor
                result.add_missing(copies.nodes)
    return result.graph() if is_changed else None


def _add_rows_of(result: GraphCopy, part: TensorId, dtype: str, device: str) -> TensorId:
    """Adds the number of rows of a part.

    Args:
      result: the copy of the cut graph that it is added to.
      part: the part.
      dtype: of it.
      device: of its tower.

    Returns:
      The number.
    """
    scope = f"{part.node}/of_part_{part.output}"
    with tf.Graph().as_default() as graph, v1.name_scope(scope + "/"):
        tf.identity(tf.shape(v1.placeholder(dtype, name="part"), name="shape")[0], name="rows")
    nodes = [node for node in graph.as_graph_def().node if node.op != "Placeholder"]
    for node in nodes:
        node.device = device
        if node.op == "Shape":
            node.input[0] = input_text(part)
    result.add_missing(nodes)
    return TensorId(f"{scope}/rows", 0)


def _owners(graph: Graph, step: StepParts) -> dict[str, int]:
    """Returns {node: the only tower that needs it}."""
    found: dict[str, int] = {}
    several: set[str] = set()
    for tower in range(len(step.cuts)):
        own = [name for name, owner in step.tower_nodes.items() if owner == tower]
        for name in graph.ancestors(own, controls=False):
            if found.setdefault(name, tower) != tower:
                several.add(name)
    return {name: tower for name, tower in found.items() if name not in several}


def _sizes_of_parts(
    graph: Graph, imported: ImportedGraph, step: StepParts, whole: TensorId
) -> tuple[list[TensorId], set[TensorId]]:
    """Returns each tower's part of a batch, and the numbers made from the size of the batch that are those of its rows.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      step: the train op.
      whole: the batch.

    Returns:
      Both; empty if there is no such number.
    """
    numbers = _numbers_of_size(graph, imported, whole)
    shape = imported.shape(*whole)
    after = graph.descendants([whole.node], controls=False)
    taken = [
        [cut for cut in cuts if cut != whole and cut.node in after and _is_open(imported, cut)] for cuts in step.cuts
    ]
    if not numbers or not shape or shape[0] is not None or not all(taken):
        return [], set()
    parts = [cuts[0] for cuts in taken]
    found: set[TensorId] = set(numbers)
    for rows in _ROWS:
        sizes = _evaluated(imported, whole, [rows * len(parts), *(size or _OPEN for size in shape[1:])], numbers, parts)
        if sizes is None or any(sizes[part] != rows for part in parts):
            return [], set()
        found = {number for number in found if sizes[number] == rows}
    return (parts, found) if found else ([], set())


def _is_open(imported: ImportedGraph, tensor: TensorId) -> bool:
    """Whether a tensor has any number of rows."""
    return (imported.shape(*tensor) or [0])[0] is None


def _numbers_of_size(graph: Graph, imported: ImportedGraph, whole: TensorId) -> list[TensorId]:
    """The whole numbers that are computed from the shape of a batch and constants alone."""
    shapes = [use.node for use in graph.users(whole.node) if graph.type(use.node) in op_types.SHAPE_OPS]
    known = set(shapes)
    for name in graph.nodes:  # in a topological order
        inputs = graph.inputs(name)
        is_size = [tensor.node in known for tensor in inputs]
        if any(is_size) and all(one or imported.constant(*t) is not None for one, t in zip(is_size, inputs)):
            known.add(name)
    return [
        TensorId(name, 0) for name in known if imported.shape(name) == () and imported.dtype(name) in ("int32", "int64")
    ]


def _evaluated(
    imported: ImportedGraph,
    whole: TensorId,
    shape: Sequence[int],
    numbers: Sequence[TensorId],
    parts: Sequence[TensorId],
) -> Mapping[TensorId, int] | None:
    """Returns the numbers, and the rows of the parts, of a batch of zeros; None if they do not follow from it alone.

    Args:
      imported: the cut graph, as TensorFlow has it.
      whole: the batch.
      shape: of the batch.
      numbers: that are computed from its size.
      parts: of it.
    """
    graph = imported.tf_graph
    given = graph.get_tensor_by_name(tensor_name(*whole))
    zeros = np.zeros(shape, given.dtype.as_numpy_dtype)
    with v1.Session(graph=graph, config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        fetches = [graph.get_tensor_by_name(tensor_name(*tensor)) for tensor in [*numbers, *parts]]
        try:
            values = session.run(fetches, {given: zeros})
        except tf.errors.OpError:
            return None
    sizes = [int(value) for value in values[: len(numbers)]] + [len(value) for value in values[len(numbers) :]]
    return dict(zip([*numbers, *parts], sizes))
