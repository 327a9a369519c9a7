"""Numbers that a program computes of a whole batch, whose parts its towers take: the sum of all lengths.

Such a number is the same for all towers, and belongs to each batch, so that it is no setting. It follows from the
towers' parts: the step computes it of the batch that these parts make, at any number of replicas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import CONTROL_FLOW, Graph, TensorId, tensor_name
from workloads.lifted.graph.old_ops import registered_op

v1 = tf.compat.v1
#: Rows of one tower that a batch of any size is tried with; size of other dimensions that the graph leaves open.
_ROWS, _OPEN = (2, 3), 2


def numbers_of_wholes(
    graph: Graph, imported: ImportedGraph, cuts: Sequence[Sequence[TensorId]], common: Sequence[TensorId]
) -> set[str]:
    """Finds the nodes that numbers are computed by of a batch alone that the towers share out.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      cuts: for each tower, the tensors that bring data into it.
      common: those that bring data into what is computed once.

    Returns:
      Names of the nodes behind the batches.
    """
    entering = dict.fromkeys([tensor for own in cuts for tensor in own] + list(common))
    numbers = [tensor.node for tensor in entering if _has_no_rows(imported, tensor) and graph.inputs(tensor.node)]
    parts = {tensor.node for tensor in entering}.difference(numbers)
    found: set[str] = set()
    shared_out: dict[str, bool] = {}
    for name in numbers if len(cuts) > 1 else []:
        before = graph.ancestors([name], controls=False)
        wholes = [one for one in before if graph.type(one) == "Placeholder"]
        is_of_one = len(wholes) == 1 and parts.isdisjoint(before - {*wholes})
        is_of_one = is_of_one and (imported.shape(name) == () or is_open(imported, wholes[0]))
        if is_of_one and all(is_computed(graph, one) for one in before - {*wholes}):
            whole = wholes[0]
            if whole not in shared_out:
                shared_out[whole] = is_shared_out(graph, imported, whole, cuts)
            found |= before - {whole} if shared_out[whole] else set()
    return found


def _has_no_rows(imported: ImportedGraph, tensor: TensorId) -> bool:
    """Whether a tensor has no more numbers for a larger batch, if the batch is of any size."""
    shape = imported.shape(*tensor)
    return shape is not None and None not in shape


def is_open(imported: ImportedGraph, whole: str) -> bool:
    """Whether a batch is of any size."""
    shape = imported.shape(whole)
    return shape is not None and shape[:1] == (None,)


def _is_number(imported: ImportedGraph, whole: str, tensor: TensorId) -> bool:
    """Whether a tensor is a number that is computed of a batch, or several that are no rows, as weights of classes."""
    return imported.shape(*tensor) == () or is_open(imported, whole) and _has_no_rows(imported, tensor)


def is_computed(graph: Graph, name: str) -> bool:
    """Whether a node has the same value whenever it is computed of the same inputs."""
    definition = registered_op(graph.type(name))
    is_pure = definition is not None and not definition.is_stateful and graph.type(name) not in op_types.VARIABLES
    return is_pure and graph.type(name) not in CONTROL_FLOW and not graph.type(name).startswith("Placeholder")


def is_shared_out(graph: Graph, imported: ImportedGraph, whole: str, cuts: Sequence[Sequence[TensorId]]) -> bool:
    """Tries out whether each tower takes one part of a batch, and the parts of all towers, joined, are the batch.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      whole: name of the batch.
      cuts: for each tower, the tensors that bring data into it.

    Returns:
      Whether they do.
    """
    batch, shape = TensorId(whole, 0), imported.shape(whole)
    after = graph.descendants([whole], controls=False)
    taken = [
        [cut for cut in own if cut.node in after and cut != batch and not _is_number(imported, whole, cut)]
        for own in cuts
    ]
    if not shape or any(len(own) != 1 or imported.dtype(*own[0]) != imported.dtype(whole) for own in taken):
        return False
    parts = [own[0] for own in taken]
    shapes = made_up_shapes(imported, whole, len(parts))
    return all(_are_joined(imported, batch, one, parts) for one in shapes)


def made_up_shapes(imported: ImportedGraph, whole: str, towers: int) -> list[list[int]]:
    """Returns the shapes of batches that are tried, which a number of towers share out.

    Args:
      imported: the graph, as TensorFlow has it.
      whole: name of the batch.
      towers: their number.

    Returns:
      The shapes; none for a batch of unknown rank.
    """
    shape = imported.shape(whole)
    if not shape:
        return []
    sizes = [shape[0]] if shape[0] is not None else [rows * towers for rows in _ROWS]
    return [[size, *(other or _OPEN for other in shape[1:])] for size in sizes]


def _are_joined(imported: ImportedGraph, batch: TensorId, shape: Sequence[int], parts: Sequence[TensorId]) -> bool:
    """Whether the parts of a batch of different numbers make it, one after the other."""
    graph = imported.tf_graph
    given = graph.get_tensor_by_name(tensor_name(*batch))
    numbers = np.arange(np.prod(shape)).reshape(shape).astype(given.dtype.as_numpy_dtype)
    with v1.Session(graph=graph, config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        try:
            values = session.run([graph.get_tensor_by_name(tensor_name(*part)) for part in parts], {given: numbers})
        except tf.errors.OpError:
            return False
    fits = all(value.shape[1:] == numbers.shape[1:] and value.ndim for value in values)
    return fits and len({len(value) for value in values}) == 1 and np.array_equal(np.concatenate(values), numbers)
