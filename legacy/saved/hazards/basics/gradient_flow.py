"""The way of a gradient: whether an update takes the derivative of a loss by an input of a forward op."""

from __future__ import annotations

import functools

from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

#: Ends of the names of the derivatives by the first and the second input of an op, from the last node to the first.
_DERIVATIVES = (
    ("tuple/control_dependency", "tuple/control_dependency_1"),
    ("Reshape", "Reshape_1"),
    ("Mul", "Mul_1"),
    ("mul", "mul_1"),
)


class GradientFlow:
    """The gradient ops that updates depend on, by the forward ops that they differentiate.

    Args:
      whole: the graph.
    """

    def __init__(self, whole: WholeGraph) -> None:
        self._nodes: dict[str, list[str]] = {}
        for name in whole.reach:
            forward = forward_name(name, whole.graph.nodes) if is_gradient_op(name) else None
            if forward is not None:
                self._nodes.setdefault(forward, []).append(name)

    def passes(self, name: str) -> bool:
        """Returns whether a gradient flows through a forward op to a weight."""
        return name in self._nodes

    def passes_input(self, name: str, position: int) -> bool:
        """Returns whether a gradient flows from an op of two inputs to one of them, 0 or 1, and on to a weight."""
        ends = [node.rpartition("_grad/")[2] for node in self._nodes.get(name, ())]
        for pair in _DERIVATIVES:
            if any(end in pair for end in ends):
                return pair[position] in ends
        return False


@functools.lru_cache(maxsize=2)
def gradient_flow(whole: WholeGraph) -> GradientFlow:
    """Returns the gradient ops of a graph, which several checks ask for."""
    return GradientFlow(whole)
