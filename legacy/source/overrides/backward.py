"""The backward ops of one op: what `tf.gradients` computed the derivatives by its inputs with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, NamedTuple, Optional, Tuple

from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import GRADIENTS, forward_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from workloads.lifted.graph import Graph

#: How `tf.gradients` names the gradient by one of several inputs, by its number among those that have one.
_OF_SEVERAL = re.compile(r"/tuple/control_dependency(?:_(\d+))?$")


class Backward(NamedTuple):
    """The backward ops of an op.

    Attributes:
      op: name of the op.
      members: names of the backward ops, in the order of the graph; none where the gradient is handed on as it is.
      given: the gradient by the op's result; None if no backward op takes it.
      results: {number of an input: the gradient by it}; None for a gradient that is handed on as it is.
    """

    op: str
    members: Tuple[str, ...]
    given: Optional[TensorId]
    results: Dict[int, Optional[TensorId]]


def backward_of(graph: Graph, op: str, made: Collection[str], inputs: Sequence[int] = (0,)) -> Optional[Backward]:
    """Finds the backward ops of an op.

    Args:
      graph: of the lift.
      op: name of the op.
      made: names of the ops of its gradient function, of all gradient graphs.
      inputs: numbers of the inputs that may have a gradient.

    Returns:
      Those of the first gradient graph; None where they take several gradients or something that depends on the op,
      draw random numbers, or do not tell which input a gradient is by.
    """
    if not made:
        return Backward(op, (), None, dict.fromkeys(inputs))
    scope = _scope(next(iter(made)))
    inside = {name for name in made if _scope(name) == scope}
    ends = [
        TensorId(name, output)
        for name in made
        if name in inside
        for output in sorted({use.output for use in graph.users(name) if use.node not in inside})
    ]
    results = _by_inputs(graph, op, ends, inputs, inside)
    needed = graph.ancestors([end.node for end in ends], set(graph.nodes) - inside, controls=False)
    members = [name for name in made if name in inside & needed]
    outside = {tensor for name in members for tensor in graph.inputs(name) if tensor.node not in inside}
    given = [tensor for tensor in outside if tensor.node.startswith(scope)]
    before = graph.ancestors({tensor.node for tensor in outside.difference(given)} - {op}, controls=False)
    random = any("Random" in graph.type(name) for name in members)
    if not results or len(given) > 1 or op in before or random:
        return None
    return Backward(op, tuple(members), next(iter(given), None), results)


def _by_inputs(
    graph: Graph, op: str, ends: Sequence[TensorId], inputs: Sequence[int], inside: Collection[str]
) -> Dict[int, Optional[TensorId]]:
    """Returns {number of an input: the gradient by it}; none where that is not told.

    Args:
      graph: of the lift.
      op: name of the op.
      ends: the tensors that its backward ops give.
      inputs: numbers of the inputs that may have a gradient.
      inside: names of the backward ops.

    Returns:
      The gradients.
    """
    if len(inputs) == 1 and len(ends) == 1:
        return {inputs[0]: ends[0]}
    found: Dict[int, Optional[TensorId]] = {}
    untold = []
    for end in ends:
        numbered = _OF_SEVERAL.search(end.node)
        place = int(numbered.group(1) or 0) if numbered else _place_by_users(graph, op, end, inputs, inside)
        if not 0 <= place < len(inputs):
            untold.append(end)
        else:
            found[inputs[place]] = end
    left = [place for place in inputs if place not in found]
    if len(untold) == 1 and len(left) == 1:
        found[left[0]] = untold.pop()
    return found if len(found) == len(ends) else {}


def _place_by_users(graph: Graph, op: str, end: TensorId, inputs: Sequence[int], inside: Collection[str]) -> int:
    """Returns the place of the input whose op is differentiated next by a gradient; -1 for none, or several."""
    users = {use.node for use in graph.users(end.node) if use.node not in inside}
    users |= {use.node for name in users if graph.type(name) == "AddN" for use in graph.users(name)}
    differentiated = {forward_name(name, graph.nodes) for name in users}
    places = []
    for place, one in enumerate(inputs):
        tensor = graph.inputs(op)[one]
        if {tensor.node, graph.origin(tensor).node} & differentiated:
            places.append(place)
    return places[0] if len(places) == 1 else -1


def _scope(name: str) -> str:
    """Returns the name scope of the gradient graph that a node is in."""
    match = GRADIENTS.search(name)
    return name[: match.end()] if match else ""
