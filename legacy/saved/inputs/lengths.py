"""Integers that are lengths of sequences, by the ops that take them."""

from __future__ import annotations

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.integer_bounds import LOOP_COMPARISONS
from legacy.saved.inputs.integer_uses import PASSES, uses_of_integers
from workloads.lifted.graph import Graph, TensorId

#: (op type, number of the input) with the lengths of sequences.
_LENGTHS = (("ReverseSequence", 1), ("CTCLoss", 3))

#: Ops that compute lengths of others, as those of what a convolution with strides makes of sequences.
_COMPUTES = ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "FloorDiv", "Ceil", "Floor", "Maximum", "Minimum")

#: Ops by which `tf.sequence_mask`, and what is written like it, compares positions with lengths.
_MASKS = ("Less", "Greater")


def are_lengths(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether the integers of a tensor are lengths of sequences, which made-up data keep above zero.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: integers.

    Returns:
      Whether an op takes them as lengths, directly or rearranged, or what is computed of them; or whether positions
      are compared with them.
    """
    direct = list(uses_of_integers(graph, imported, tensor))
    computed = uses_of_integers(graph, imported, tensor, (*PASSES, *_COMPUTES))
    return any(
        (graph.type(user) in LOOP_COMPARISONS and user in graph.frames()) or _is_mask(graph, user, position)
        for user, position in direct
    ) or any((graph.type(user), position) in _LENGTHS for user, position in computed)


def _is_mask(graph: Graph, comparison: str, position: int) -> bool:
    """Returns whether a comparison is `range(n) < lengths`, with the lengths at a position."""
    if graph.type(comparison) not in _MASKS or position != _MASKS.index(graph.type(comparison)) ^ 1:
        return False
    name = graph.inputs(comparison)[1 - position].node
    while graph.type(name) in PASSES and graph.type(name) not in ("ConcatV2", "Concat", "Pack"):
        name = graph.inputs(name)[0].node
    return graph.type(name) == "Range"
