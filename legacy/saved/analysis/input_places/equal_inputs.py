"""Inputs that a program computes twice from the same data, as `tf.cast(images, tf.float32)` in a helper of its own.

Each copy would be an input of the lift, with data of its own. All users take the first copy instead, so that a tower
has one input for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from legacy.saved.graph.cut.equal_sources import type_and_attributes
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import CONTROL_FLOW, Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy


class Entered(Protocol):
    """A divided train op, of which the tensors that bring data in are asked for."""

    @property
    def cuts(self) -> list[list[TensorId]]:
        """For each tower, the tensors that bring data into it."""

    @property
    def common_cuts(self) -> list[TensorId]:
        """Tensors that bring data into what is computed once."""


def with_equal_inputs_once(graph: Graph, imported: ImportedGraph, steps: Sequence[Entered]) -> Graph | None:
    """Gives the users of an input that is computed again from the same data the first one of its copies.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      steps: the divided train ops.

    Returns:
      The graph; None if all inputs of each tower are different.
    """
    towers = max(len(step.cuts) for step in steps)
    groups = [[tensor for step in steps for tensor in step.cuts[tower]] for tower in range(towers)]
    groups.append([tensor for step in steps for tensor in step.common_cuts])
    values = _values(graph, imported, [tensor for group in groups for tensor in group])
    order = {name: position for position, name in enumerate(graph.order(graph.nodes))}
    firsts: dict[TensorId, TensorId] = {}
    for group in groups:
        known: dict[Hashable, TensorId] = {}
        for tensor in sorted(set(group), key=lambda tensor: (order[tensor.node], tensor.output)):
            if tensor.node in values:
                first = known.setdefault((values[tensor.node], tensor.output), tensor)
                is_free = first != tensor and graph.ancestors([tensor.node]) <= values.keys()  # changes no variable
                firsts.update({tensor: first} if is_free else {})
    if not firsts:
        return None
    result = GraphCopy(graph)
    for tensor, first in firsts.items():
        for use in graph.users(tensor.node):
            if use.output == tensor.output:
                result.give(use.node, use.position, first)
    return result.graph()


def _values(graph: Graph, imported: ImportedGraph, tensors: Sequence[TensorId]) -> dict[str, int]:
    """Returns {node: number of its value}, equal for nodes that compute the same from placeholders and constants.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      tensors: outputs of the nodes that are asked for, whose other ancestors are in the result, too.
    """
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    for name in graph.order(graph.ancestors([tensor.node for tensor in tensors])):
        key: Hashable = name
        if not graph.type(name).startswith("Placeholder"):
            given = graph.inputs(name)
            follows = all(tensor.node in found for tensor in given) and graph.type(name) not in CONTROL_FLOW
            if not follows or imported.definition(name).is_stateful:
                continue
            inputs = tuple((found[tensor.node], tensor.output) for tensor in given)
            key = (type_and_attributes(graph, name), inputs)
        found[name] = numbers.setdefault(key, len(numbers))
    return found
