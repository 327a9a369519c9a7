"""Elements of a tensor on their way through ops that only hand them on, perhaps in another shape or dtype."""

from __future__ import annotations

from workloads.lifted.graph import Graph, TensorId

#: Ops that hand the elements of their first input on.
_PASSES = ("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient", "Transpose")


def source_of_elements(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor whose elements a tensor holds, perhaps in another shape."""
    while graph.type(tensor.node) in _PASSES and graph.inputs(tensor.node):
        tensor = graph.inputs(tensor.node)[0]
    return tensor
