"""Concatenations, whose op has the axis behind its parts, or before them in graphs of TensorFlow 0.x."""

from __future__ import annotations

from typing import NamedTuple

from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.tensor_names import input_text


class Join(NamedTuple):
    """A concatenation.

    Attributes:
      parts: the tensors that it joins.
      axis: the number of the dimension along which it joins them.
    """

    parts: list[TensorId]
    axis: TensorId


def join_of(graph: Graph, name: str) -> Join | None:
    """Returns the concatenation that a node is; None of any other node."""
    inputs = graph.inputs(name)
    if graph.type(name) == "ConcatV2":
        return Join(inputs[:-1], inputs[-1])
    return Join(inputs[1:], inputs[0]) if graph.type(name) == "Concat" else None


def joined_parts(graph: Graph, name: str) -> list[TensorId]:
    """Returns the tensors that a concatenation joins; none of any other node."""
    join = join_of(graph, name)
    return join.parts if join else []


def inputs_of_join(graph: Graph, name: str, parts: list[str]) -> list[str]:
    """Returns the inputs of a concatenation that joins other parts along the same axis.

    Args:
      graph: a graph.
      name: of a concatenation of it.
      parts: inputs of nodes, as text.

    Returns:
      The inputs as text, without control dependencies.
    """
    inputs = graph.inputs(name)
    return [input_text(inputs[0]), *parts] if graph.type(name) == "Concat" else [*parts, input_text(inputs[-1])]
