"""Uses of integers: the ops that read them, directly or after ops that only rearrange them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops that rearrange the elements of their input and do not change their values.
PASSES = [
    "Identity",
    "Reshape",
    "Squeeze",
    "ExpandDims",
    "Cast",
    "Transpose",
    "ConcatV2",
    "Concat",
    "Pack",
    "Unpack",
    "StridedSlice",
    "Slice",
    "Split",
    "SplitV",
    "StopGradient",
    "Enter",
    "TensorArrayScatterV3",
    "TensorArrayReadV3",
    "Tile",
    "PadV2",
    "Pad",
    "ReverseSequence",
    "ReverseV2",
    "Unique",
]


def uses_of_integers(
    graph: Graph, imported: ImportedGraph, tensor: TensorId, passes: Collection[str] = PASSES
) -> Iterator[tuple[str, int]]:
    """Returns the uses of the integers of a tensor, directly or rearranged.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: integers.
      passes: op types with results that are followed, too.

    Returns:
      Iterator over (node, number of its input).
    """
    seen: set[TensorId] = set()
    todo = [tensor]
    while todo:
        name, output = todo.pop()
        if (name, output) in seen:
            continue
        seen.add(TensorId(name, output))
        for user, position, used in graph.users(name):
            if used == output:
                yield user, position
                if graph.type(user) in passes or (position == 0 and graph.type(user) in op_types.PICKS):
                    todo += [TensorId(user, k) for k in range(imported.outputs(user))]
