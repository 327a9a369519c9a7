"""Elements that a loop over examples reads and writes, as `tf.map_fn` does with images one by one."""

from __future__ import annotations

from workloads.lifted.graph import Graph, TensorId

#: Ops by which the handle of an array enters a loop, or a branch.
_HANDLES = ("Enter", "RefEnter", "Identity", "Switch")


def written_element(graph: Graph, tensor: TensorId) -> TensorId | None:
    """Returns the tensor whose elements another one takes from an array that only one op fills.

    Args:
      graph: a graph.
      tensor: what all elements of an array are joined to, or one of them that is read.

    Returns:
      The element that a loop writes, or the tensor that an array is made of; None of any other tensor.
    """
    kind = graph.type(tensor.node)
    fills = {"TensorArrayGather": "TensorArrayWrite", "TensorArrayRead": "TensorArrayScatter"}
    fill = next((fill for take, fill in fills.items() if kind.startswith(take)), None)
    if fill is None:
        return None
    todo, written = [_array(graph, tensor.node)], []
    while todo:
        for user, position, _ in graph.users(todo.pop()):
            if graph.type(user) in _HANDLES:
                todo.append(user)
            elif position == 0 and graph.type(user).startswith(("TensorArrayWrite", "TensorArrayScatter")):
                written.append(user)
    is_only = len(written) == 1 and graph.type(written[0]).startswith(fill)
    return graph.inputs(written[0])[2] if is_only else None


def _array(graph: Graph, name: str) -> str:
    """The array that an op takes its first input from."""
    name = graph.inputs(name)[0].node
    while graph.type(name) in _HANDLES:
        name = graph.inputs(name)[0].node
    return name
