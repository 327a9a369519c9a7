"""Texts in a graph: the ops that make numbers of them are data sources, since a step computes with numbers alone."""

from __future__ import annotations

from collections.abc import Collection

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.cut.tables import is_size, known_size
from workloads.lifted.graph import Graph, TensorId


def is_data_source(graph: Graph, name: str) -> bool:
    """Returns whether a node brings data into a step: by its type, or since it compares texts.

    A node that reads texts which are made of numbers does not: a step takes the numbers, as the program was fed. Nor
    does one that reads a text in each iteration of a loop. The size of a table is data unless the graph tells it.
    """
    if is_size(graph, name):
        return known_size(graph, name) is None
    if not op_types.is_source(graph.type(name)) and not _compares_texts(graph, name):
        return False
    if reads_texts(graph, name) and name in graph.frames():
        return False
    reads = graph.type(name) in (*op_types.HASHES, *op_types.TEXT_CUTS) or reads_texts(graph, name)
    return not (reads and any(graph.type(before) == "AsString" for before in graph.ancestors([name], controls=False)))


def reads_texts(graph: Graph, name: str) -> bool:
    """Returns whether a node makes a number, an array or a truth value of each text."""
    return graph.type(name) in op_types.READ_TEXTS or _compares_texts(graph, name)


def _compares_texts(graph: Graph, name: str) -> bool:
    """Whether a node compares texts, as a column of features does with the empty one."""
    return graph.type(name) in op_types.EQUALITIES and graph.nodes[name].attr["T"].type == tf.string.as_datatype_enum


def shapes_of_texts(graph: Graph, sources: Collection[str]) -> dict[TensorId, TensorId]:
    """Returns {texts that are compared with one: the result}, which has their shape.

    Args:
      graph: the whole graph.
      sources: the data sources of a step.
    """
    found = {}
    for name in sorted(sources):
        if _compares_texts(graph, name):
            texts, one = graph.inputs(name)
            node = graph.nodes[one.node]
            if node.op == "Const" and not node.attr["value"].tensor.tensor_shape.dim:
                found[texts] = TensorId(name, 0)
    return found
