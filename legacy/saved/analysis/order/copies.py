"""Copies of reference variables: reading one on another device than its own copies it, and shares no memory."""

from __future__ import annotations

from workloads.lifted.graph import Graph, TensorId, device_of


def copy_before(graph: Graph, tensor: TensorId, variable: str) -> str | None:
    """Returns the `Identity` by which a value comes to another device than its variable's; "" if there is none.

    Args:
      graph: the subgraph that a step runs.
      tensor: of the value.
      variable: name of the variable.

    Returns:
      The node's name, or ""; None if the tensor is no value of the variable that `Identity` ops hand on.
    """
    copy = ""
    while graph.type(tensor.node) == "Identity" and graph.inputs(tensor.node):
        before = graph.inputs(tensor.node)[0]
        devices = {device_of(graph.nodes[name].device) for name in (tensor.node, before.node)} - {None}
        copy = tensor.node if len(devices) == 2 else copy
        tensor = before
    return copy if tensor.node == variable else None
