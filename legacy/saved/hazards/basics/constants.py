"""Constants of a graph as arrays of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: {op of whole numbers: its result}, and the most of them one after the other that are computed.
_COMPUTED: dict[str, Callable[[list[np.ndarray]], np.ndarray]] = {
    "Add": lambda values: values[0] + values[1],
    "AddV2": lambda values: values[0] + values[1],
    "ConcatV2": lambda values: np.concatenate([np.ravel(value) for value in values[:-1]]),
    "Concat": lambda values: np.concatenate([np.ravel(value) for value in values[1:]]),
    "Pack": np.array,
    "Range": lambda values: np.arange(*map(int, values)),
    "Sub": lambda values: values[0] - values[1],
}
_DEEPEST = 8
#: {op of numbers: its result}, as of quantiles less 1.
_ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "AddV2": np.add,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Sub": np.subtract,
}
_PASSES = ("Identity", "Cast", "Reshape", "ExpandDims")


def constant_array(graph: Graph, name: str) -> np.ndarray | None:
    """Returns the numbers of a constant, also behind a reshape.

    Args:
      graph: a graph.
      name: of a node.

    Returns:
      An array, in the shape of the constant; None for any other node.
    """
    while graph.type(name) in _PASSES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    node = graph.nodes[name]
    if node.op != "Const":
        return None
    value = tf.make_ndarray(node.attr["value"].tensor)
    return value if value.dtype.kind in "iuf" else None


def sign_of_constants(graph: Graph, name: str) -> int:
    """Returns 1 where all numbers of constants, or of sums and products of them, are above 0, -1 below 0; 0 elsewhere.

    Args:
      graph: a graph.
      name: of a node.
    """
    numbers = _constants(graph, name, _DEEPEST)
    return 0 if numbers is None or not numbers.size else int((numbers > 0).all()) - int((numbers < 0).all())


def _constants(graph: Graph, name: str, depth: int) -> np.ndarray | None:
    function = _ARITHMETIC.get(graph.type(name))
    if function is None or not depth:
        return constant_array(graph, name)
    numbers = [_constants(graph, tensor.node, depth - 1) for tensor in graph.inputs(name)]
    known = [number for number in numbers if number is not None]
    try:
        return np.asarray(function(*known)) if len(known) == len(numbers) else None
    except ValueError:  # reshaped since, so that their shapes do not fit
        return None


def order_of_axes(graph: Graph, imported: ImportedGraph, order: TensorId) -> list[int] | None:
    """Returns the order of dimensions that a transposition is given, also where ops compute it of whole numbers.

    Releases of 1.x make it of ranges and of the rank less one, where a softmax is along another axis than the last.

    Args:
      graph: a graph.
      imported: the same, with shapes.
      order: what a Transpose takes.

    Returns:
      The dimensions; None where the graph does not tell.
    """
    value = _whole_numbers(graph, imported, order, _DEEPEST)
    return None if value is None else [int(axis) for axis in np.ravel(value)]


def _whole_numbers(graph: Graph, imported: ImportedGraph, tensor: TensorId, depth: int) -> np.ndarray | None:
    known = imported.constant(*tensor)
    kind = graph.type(tensor.node)
    if known is not None or kind not in _COMPUTED or not depth:
        return None if known is None else np.asarray(known)
    values = [_whole_numbers(graph, imported, before, depth - 1) for before in graph.inputs(tensor.node)]
    numbers = [value for value in values if value is not None]
    return _COMPUTED[kind](numbers) if len(numbers) == len(values) else None
