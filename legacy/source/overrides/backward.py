"""The backward ops of one op: what `tf.gradients` computed the derivative by its input with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import GRADIENTS

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.graph import Graph


class Backward(NamedTuple):
    """The backward ops of an op of one input.

    Attributes:
      op: name of the op.
      members: names of the backward ops, in the order of the graph; none where the gradient is handed on as it is.
      given: the gradient by the op's result; None if no backward op takes it.
      result: the gradient by the op's input; None if it is `given`.
    """

    op: str
    members: Tuple[str, ...]
    given: Optional[TensorId]
    result: Optional[TensorId]


def backward_of(graph: Graph, op: str, made: Collection[str]) -> Optional[Backward]:
    """Finds the backward ops of an op.

    Args:
      graph: of the lift.
      op: name of the op, which has one input.
      made: names of the ops of its gradient function, of all gradient graphs.

    Returns:
      Those of the first gradient graph; None where they take or give several gradients, take something that depends on
      the op, or draw random numbers.
    """
    if not made:
        return Backward(op, (), None, None)
    order = list(made)
    scope = _scope(order[0])
    members = [name for name in order if _scope(name) == scope]
    inside = set(members)
    outside = {tensor for name in members for tensor in graph.inputs(name) if tensor.node not in inside}
    given = [tensor for tensor in outside if tensor.node.startswith(scope)]
    results = {TensorId(name, use.output) for name in members for use in graph.users(name) if use.node not in inside}
    forward = {tensor.node for tensor in outside.difference(given)} - {op}
    loops = op in graph.ancestors(forward, controls=False)
    if len(given) > 1 or len(results) != 1 or loops or any("Random" in graph.type(name) for name in members):
        return None
    return Backward(op, tuple(members), next(iter(given), None), results.pop())


def _scope(name: str) -> str:
    """Returns the name scope of the gradient graph that a node is in."""
    match = GRADIENTS.search(name)
    return name[: match.end()] if match else ""
