"""Sizes of open dimensions at which a pool of a constant window gives one result, as in a CNN of texts of one length.

Such a graph runs with longer inputs up to its loss: each further position makes a further row of features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from legacy.saved.data_trial.trial_sizes import has_open_size
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Input

#: Ops between a layer's window and the one before it, which have a result for each number of their first input.
_BETWEEN = ("BiasAdd", "Add", "AddV2", "Mul", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu", "Identity")
#: Pools, and convolutions, whose dimensions are height and width.
_POOLS, _CONVOLUTION = ("MaxPool", "AvgPool"), "Conv2D"
#: Most sizes that are tried.
MOST_SIZES = 4


def window_sizes(graph: Graph, imported: ImportedGraph) -> list[int]:
    """Returns the sizes with which a pool without padding has one result along its height or width, the largest first.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
    """
    pools = [name for name in graph.of_types(*_POOLS) if _attribute(graph, name, "padding") == "VALID"]
    sizes = {size for name in pools for side in (0, 1) for size in _size_before(graph, imported, name, side)}
    return sorted(sizes, reverse=True)[:MOST_SIZES]


def of_one_size(entries: Sequence[Input], size: int) -> list[Input]:
    """Returns the inputs with a size for all open dimensions but that of the examples."""
    found = []
    for entry in entries:
        own = [size if has_open_size(entry, i) else known for i, known in enumerate(entry.shape or [])]
        found.append(entry if own == (entry.shape or []) else dataclasses.replace(entry, example=own))
    return found


def _size_before(graph: Graph, imported: ImportedGraph, pool: str, side: int) -> Iterator[int]:
    """Yields the size before all layers of windows that a pool comes after, if its own window is of several positions.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      pool: name of the op.
      side: 0 for the height, 1 for the width.
    """
    name, size = graph.inputs(pool)[0].node, _sides(graph, pool, "ksize")[side]
    if size < 2:
        return
    while graph.type(name) in (_CONVOLUTION, *_POOLS, *_BETWEEN):
        if graph.type(name) not in _BETWEEN:
            window = _window(graph, imported, name, side)
            if window is None:
                return
            size = (size - 1) * _sides(graph, name, "strides")[side] + window
        name = graph.inputs(name)[0].node
    yield size


def _window(graph: Graph, imported: ImportedGraph, name: str, side: int) -> int | None:
    """Returns how many positions a layer's result is of: one with padding, as sizes are then; None if it is unknown."""
    if _attribute(graph, name, "padding") != "VALID":
        return 1
    if graph.type(name) in _POOLS:
        return _sides(graph, name, "ksize")[side]
    shape = imported.shape(*graph.inputs(name)[1])
    return None if shape is None or len(shape) != 4 else shape[side]


def _sides(graph: Graph, name: str, attribute: str) -> tuple[int, int]:
    """Returns an attribute's numbers of height and width."""
    numbers = list(graph.nodes[name].attr[attribute].list.i)
    height = 2 if _attribute(graph, name, "data_format") == "NCHW" else 1
    return numbers[height], numbers[height + 1]


def _attribute(graph: Graph, name: str, attribute: str) -> str:
    """Returns a string attribute of a node."""
    return graph.nodes[name].attr[attribute].s.decode()
