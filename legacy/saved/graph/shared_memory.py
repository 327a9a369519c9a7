"""Ops whose result shares the memory of their input.

TensorFlow's kernels copy nothing where a tensor's elements stay as they are. The result is then one more view of a
reference variable that it was read from, and an update in place changes it. Measured for the CPU kernels of TensorFlow
2.21, in which the old graph runs.
"""

from __future__ import annotations

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import MERGES, SWITCHES, Graph

#: Ops that hand on their input whatever their attributes are.
_ALWAYS = ("Identity", "PlaceholderWithDefault", "EnsureShape", "Print", *SWITCHES, *op_types.VIEWS)
#: Ops that hand on their input where their result has all its elements: a sum over no axis, a tile of one.
_WHERE_COMPLETE = (
    *("StridedSlice", "Slice", "Split", "SplitV", "Pack", "AddN", "Tile", "Pad", "PadV2", "BroadcastTo"),
    *("Sum", "Mean", "Max", "Min", "Prod"),
)
#: Ops that take parts of their input. Parts along its first axis are views if they begin at an aligned address.
_PARTS = ("StridedSlice", "Slice", "Split", "SplitV", "Unpack")


def shares_memory(graph: Graph, imported: ImportedGraph, name: str, position: int) -> bool:
    """Decides whether a node's results may share the memory of one of its data inputs.

    Args:
      graph: the graph.
      imported: the same graph in TensorFlow.
      name: of the node.
      position: number of the data input.

    Returns:
      False only if the node copies what it takes; True also for parts along the first axis, which it may copy.
    """
    op_type, inputs = graph.type(name), graph.inputs(name)
    if op_type in ("IdentityN", *MERGES):
        return True
    if position != op_types.divided_input(op_type):  # a Split's first input is its axis
        return False
    if op_type in _ALWAYS:
        return True
    if op_type == "Cast":
        return imported.dtype(*inputs[0]) == imported.dtype(name)
    taken, given = _known(imported.shape(*inputs[position])), _known(imported.shape(name))
    if taken is None or given is None:
        return False
    if op_type == "Transpose":
        return _keeps_order(taken, imported.constant(*inputs[1]))
    if op_type in _WHERE_COMPLETE and np.prod(taken) == np.prod(given):
        return op_type != "AddN" or len(inputs) == 1
    return op_type in _PARTS and _is_of_first_axis(taken, given)


def _known(shape: tuple[int | None, ...] | None) -> list[int] | None:
    """Returns a shape if all its dimensions are known."""
    return None if shape is None or None in shape else [size for size in shape if size is not None]


def _keeps_order(shape: list[int], permutation: np.ndarray | None) -> bool:
    """Returns whether a transposition moves axes of one element alone, and so no element."""
    if permutation is None:
        return False
    moved = [axis for axis in permutation.tolist() if shape[axis] != 1]
    return moved == sorted(moved)


def _is_of_first_axis(taken: list[int], given: list[int]) -> bool:
    """Returns whether a part of a tensor has all elements of the axes behind the first."""
    rows = taken[1:]
    return bool(taken) and (given[1:] == rows or given == rows)
