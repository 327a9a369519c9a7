"""Changes that set the same rows of a weight to the same constants, as each tower sets that of the padding to zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy

#: Changes that set rows.
SETS_ROWS = ("ScatterUpdate", "ResourceScatterUpdate")


def set_equal_rows(graph: Graph, imported: ImportedGraph, changes: Sequence[str]) -> bool:
    """Returns whether changes of a variable set the same rows to the same constants: any one of them is all.

    Args:
      graph: the graph with the variable.
      imported: the same graph in TensorFlow.
      changes: the nodes that change it.

    Returns:
      Whether they do.
    """
    conditional = graph.frames() | graph.branches()
    if not all(graph.type(change) in SETS_ROWS and change not in conditional for change in changes):
        return False
    taken = [[imported.constant(*tensor) for tensor in graph.inputs(change)[1:]] for change in changes]
    given = [[array for array in arrays if array is not None] for arrays in taken]
    equal = all(np.array_equal(one, first) for arrays in given for one, first in zip(arrays, given[0]))
    return equal and all(len(arrays) == len(taken[0]) for arrays in given)


def set_rows_at_last(result: GraphCopy, writes: Mapping[str, Sequence[str]], users: Mapping[str, str]) -> None:
    """Makes changes that set the same rows of a weight wait for all that use it as it was, and for each other.

    Args:
      result: the graph that is changed.
      writes: {node: variables that it changes}.
      users: {change: node that uses the weight as it was before}.
    """
    for written in dict.fromkeys(tuple(writes[change]) for change in users):
        same = [name for name in writes if tuple(writes[name]) == written and result.nodes[name].op in SETS_ROWS]
        before = [users[name] for name in same if name in users]
        for place, name in enumerate(same):
            result.nodes[name].input.extend(f"^{other}" for other in [*before, *same[:place][-1:]])
