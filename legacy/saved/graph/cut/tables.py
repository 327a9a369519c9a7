"""Lookup tables of a graph, which lie before the step: what fills them, and the number of their entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId

#: Tables that are filled once, and the ops that fill them.
TABLES = ("HashTable", "HashTableV2")
_FILLS = ("InitializeTable", "LookupTableImport")
#: Ops that give the number of a table's entries.
_SIZES = ("LookupTableSize", "LookupTableSizeV2")


class Filling(NamedTuple):
    """The op that fills a table, and what it takes.

    Attributes:
      node: the op.
      contents: keys and values, or the name of the file that has them.
    """

    node: str
    contents: list[TensorId]


def filling_of(graph: Graph, table: str) -> Filling | None:
    """Returns what fills a table; None if nothing does, or several ops do.

    Args:
      graph: the whole graph.
      table: name of the table.
    """
    fills = [name for name, _, _ in graph.users(table) if graph.type(name).startswith(_FILLS)]
    return Filling(fills[0], graph.inputs(fills[0])[1:]) if len(fills) == 1 else None


def is_size(graph: Graph, name: str) -> bool:
    """Returns whether a node gives the number of a table's entries, which an empty table of a step would not have."""
    return graph.type(name) in _SIZES


def known_size(graph: Graph, name: str) -> int | None:
    """Returns the number of entries that such a node gives; None if the graph does not tell it."""
    filling = filling_of(graph, graph.inputs(name)[0].node)
    if filling is None:
        return None
    keys = graph.nodes[filling.contents[0].node]
    if len(filling.contents) > 1:
        return int(np.size(tf.make_ndarray(keys.attr["value"].tensor))) if keys.op == "Const" else None
    given = int(graph.nodes[filling.node].attr["vocab_size"].i)
    return given if given > 0 else None
