"""Inputs that each tower takes from an array by an index, x[t]: their first dimension need not be the examples'."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from legacy.saved.inputs.parts import is_index
from workloads.lifted.graph import TensorId, parse_tensor_name


def indexed_part(analysed: AnalysedStep) -> str:
    """Returns an input whose parts towers take by an index, if such inputs alone tell the number of examples.

    What a layer takes as its rows tells it, and so do two inputs of one length, such as images and their labels.

    Args:
      analysed: the training step.

    Returns:
      The input with the shape of a part, in words; "" where the number of examples is known.
    """
    graph, imported, batch = analysed.graph, analysed.imported, analysed.plan.batch
    entries = [
        entry for entry in analysed.plan.inputs if entry.has_examples and entry.shape and entry.shape[0] == batch
    ]
    tensors = [parse_tensor_name(entry.tensors[0]) for entry in entries]
    if batch is None or len({entry.origin for entry in entries}) != 1:
        return ""
    if not all(is_index(graph, imported, tensor.node) for tensor in tensors):
        return ""
    if any(_is_rows_of_layer(analysed, tensor) for tensor in tensors):
        return ""
    return f"one row of {entries[0].name}, of shape {entries[0].shape}"


def _is_rows_of_layer(analysed: AnalysedStep, tensor: TensorId) -> bool:
    """Whether a layer takes a tensor as its rows, such as the first factor of a product of matrices."""
    graph = analysed.graph
    for use in graph.users(tensor.node):
        if use.output != tensor.output:
            continue
        kind = graph.type(use.node)
        if kind in op_types.COPIES and _is_rows_of_layer(analysed, TensorId(use.node, 0)):
            return True
        if kind == "MatMul" and use.position == 0 and not graph.nodes[use.node].attr["transpose_a"].b:
            return True
        if kind in op_types.CONVOLUTIONS and use.position == 0:
            return True
    return False
