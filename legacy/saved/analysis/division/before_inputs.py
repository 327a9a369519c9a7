"""Ops before the towers' inputs, which a lift leaves out, since its data begin at the inputs: none may be trained."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Plan
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op
from workloads.support.errors import InputError


def require_untrained_before_inputs(graph: Graph, plan: Plan) -> None:
    """Checks that no gradient of a step flows through what its inputs are computed from.

    A layer that is run once for all towers, whose results they split, is such a case: with its results as data, its
    weights would be updated by gradients of activations that they did not make.

    Args:
      graph: the subgraph that a step runs.
      plan: of its lift.

    Raises:
      InputError: a gradient does; the message names the weight and the op.
    """
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    ends = {parse_tensor_name(name).node for entry in plan.inputs + plan.common for name in entry.tensors}
    before = graph.ancestors(ends, controls=False)
    read = [name for name in graph.nodes if name in before & weights]
    if not read:
        return
    trained = before & graph.descendants(read, controls=False) & _differentiated(graph, before)
    for name in (name for name in graph.nodes if name in trained and not op_types.is_source(graph.type(name))):
        weight = next(weight for weight in read if weight in graph.ancestors([name], controls=False))
        raise InputError(
            f"graph file: the weight {weight!r} is trained through {name!r} ({graph.type(name)}), which computes what "
            "towers get as data: such an op outside of the towers cannot be lifted"
        )


def _differentiated(graph: Graph, members: Collection[str]) -> set[str]:
    """Returns the nodes among some that a gradient op of the step differentiates."""
    forward = (forward_name(name, graph.nodes) for name in graph.nodes if is_gradient_op(name))
    return {name for name in forward if name is not None and name in members}
