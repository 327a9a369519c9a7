"""Results of loops that take one example after another, as `tf.map_fn` does over a batch."""

from __future__ import annotations

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops that carry a loop's array from its last write to where it is gathered.
_CARRIES = ("Exit", "Switch", "Merge", "NextIteration", "Identity")
#: Position of the value among the inputs of a write of one element, and of all elements.
_VALUE = 2


def has_row_per_example(graph: Graph, imported: ImportedGraph, name: str, batch: int | None) -> bool:
    """Tells whether a node gathers what a loop computes for one example after another.

    A loop over times reads arrays with a row for each time.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: the node.
      batch: number of examples; None if it is open.

    Returns:
      Whether each array that the loop reads has a row for each example.
    """
    if not graph.type(name).startswith("TensorArrayGather"):
        return False
    values = [graph.inputs(write)[_VALUE].node for write in _writes(graph, graph.inputs(name)[-1].node)]
    before = graph.ancestors(values, controls=False)
    arrays = [graph.inputs(node)[_VALUE] for node in before if graph.type(node).startswith("TensorArrayScatter")]
    return bool(arrays) and all(_has_examples_first(graph, imported, array, batch) for array in arrays)


def _has_examples_first(graph: Graph, imported: ImportedGraph, array: TensorId, batch: int | None) -> bool:
    """Whether a tensor has a row for each example: of an open number of rows, where nothing made others the first."""
    shape = imported.shape(*array)
    if not shape or shape[0] != batch:
        return False
    return batch is not None or all(graph.type(name) != "Transpose" for name in graph.ancestors([array.node]))


def _writes(graph: Graph, flow: str) -> list[str]:
    """The writes of single elements that are nearest to where an array is read."""
    todo, seen, found = [flow], {flow}, []
    while todo:
        name = todo.pop()
        if graph.type(name).startswith("TensorArrayWrite"):
            found.append(name)
        elif graph.type(name) in _CARRIES:
            behind = [tensor.node for tensor in graph.inputs(name) if tensor.node not in seen]
            todo += behind
            seen.update(behind)
    return found
