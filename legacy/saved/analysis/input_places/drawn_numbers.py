"""Numbers that are drawn once for all towers, such as a factor of all towers' examples that each step draws anew.

Such a number is no setting, which would be the same in all steps: the step draws it, once for all towers.
"""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.analysis.input_places.wholes import is_computed
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.pieces.noise import TWINS


def numbers_drawn_once(
    graph: Graph, imported: ImportedGraph, cuts: Sequence[Sequence[TensorId]], common: Sequence[TensorId]
) -> set[str]:
    """Finds the nodes that make a number of random ones alone, which bring data into nothing else.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      cuts: for each tower, the tensors that bring data into it.
      common: those that bring data into what is computed once.

    Returns:
      Names of the nodes.
    """
    entering = {tensor for own in cuts for tensor in own} | set(common)
    behind = {tensor: graph.ancestors([tensor.node], controls=False) for tensor in entering}
    drawn = {tensor for tensor in entering if imported.shape(*tensor) == () and _is_drawn(graph, behind[tensor])}
    while True:
        data = set().union(*(behind[tensor] for tensor in entering - drawn))
        # What is made of data, too, is no other draw: the data hold these random numbers.
        kept = {tensor for tensor in drawn if not any(name in data for name in _random(graph, behind[tensor]))}
        if kept == drawn:
            return set().union(*(behind[tensor] for tensor in drawn))
        drawn = kept


def _random(graph: Graph, names: set[str]) -> set[str]:
    return {name for name in names if op_types.is_random(graph.type(name))}


def _is_drawn(graph: Graph, behind: set[str]) -> bool:
    """Whether a tensor with these nodes behind it is made of constants and of random numbers that are drawn by key."""
    random = {name for name in behind if graph.type(name) in TWINS}
    return bool(random) and all(is_computed(graph, name) for name in behind - random)
