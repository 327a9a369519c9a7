"""Variables that an op takes, and the op that an op of a gradient graph is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Collection, List

from legacy.saved.graph import op_types
from workloads.lifted.tensors.gradient_names import forward_name

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph


def forward_of(graph: Graph, gradient: str, gradients: Collection[str]) -> str:
    """Returns the op that an op of a gradient graph is of.

    Args:
      graph: of the lift.
      gradient: the op.
      gradients: all ops of gradient graphs.

    Returns:
      Its name; "" if there is none.
    """
    name = forward_name(gradient, graph.nodes) if gradient in gradients else ""
    return name if name in graph.nodes else ""


def variables_taken(graph: Graph, user: str) -> List[str]:
    """Returns the variables that an op takes, behind copies; none for ""."""
    found = [variable_behind(graph, tensor.node) for tensor in graph.inputs(user)] if user else []
    return [variable for variable in found if variable]


def variable_behind(graph: Graph, name: str) -> str:
    """Returns the variable that a node is, or reads by way of copies; "" for any other node."""
    while graph.type(name) in op_types.READS:
        name = graph.inputs(name)[0].node
    return name if graph.type(name) in op_types.VARIABLES else ""
