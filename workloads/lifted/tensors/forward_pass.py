"""Forward pass of a tower in an old graph: the tensors between what enters the tower and its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Set

from tensorflow.core.framework import types_pb2

from workloads.lifted.double.signatures import Signatures
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph import parse_tensor_name as parse

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from workloads.lifted.plan import Plan

#: Floating dtypes that a loss has gradients to.
FLOATS = (types_pb2.DT_HALF, types_pb2.DT_BFLOAT16, types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE)
#: Names of outputs that only order the uses of a tensor array.
_FLOWS = ("flow", "flow_out")
#: Ops whose output may be the memory of their first input. Of a variable, that changes during the step.
_VIEWS = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient", "IdentityN", "Snapshot")


def boundary_nodes(plan: Plan, returns: Sequence[str] = ()) -> set[str]:
    """Returns the nodes at which a forward pass begins: inputs, variables with their reads, and what returns to it."""
    inputs = [tensor for entry in plan.inputs + plan.common for tensor in entry.tensors]
    return {parse(tensor).node for tensor in [*inputs, *plan.aliases, *returns]}


def forward_tensors(plan: Plan, graph: Graph, losses: Sequence[str], returns: Sequence[str] = ()) -> list[TensorId]:
    """Finds the tensors of a tower's forward pass that a step can hand out.

    Left out are tensors inside loops and branches, which have no one value in a step; integers; constants; variables,
    and views of their memory; outputs that nothing uses.

    Args:
      plan: of the lift.
      graph: of the lift.
      losses: the tower's losses, and what else leaves it.
      returns: tensors that come back into it, made from all towers' results.

    Returns:
      the tensors, each behind those that it is made from.
    """
    start = boundary_nodes(plan, returns)
    members = graph.ancestors([parse(loss).node for loss in losses], start, controls=False)
    ordered = graph.order(members)
    computed = _computed_nodes(plan, graph, ordered, start)
    hidden = graph.frames() | graph.branches() | _variable_views(plan, graph, ordered)
    signatures = Signatures({function.signature.name: function for function in graph.graph_def.library.function})
    found: List[TensorId] = []
    for name in ordered:
        if name in computed and name not in hidden:
            found += _float_outputs(graph, signatures, name, members)
    return found


def _computed_nodes(plan: Plan, graph: Graph, ordered: Sequence[str], start: Collection[str]) -> Set[str]:
    """Returns the nodes that are made from inputs, variables or random numbers, without those themselves."""
    random = {node for entry in plan.noise + plan.common_noise for node in entry.nodes}
    found: Set[str] = set()
    for name in ordered:
        known = name in random or any(t.node in start or t.node in found for t in graph.inputs(name))
        if name not in start and known:
            found.add(name)
    return found


def _variable_views(plan: Plan, graph: Graph, ordered: Sequence[str]) -> Set[str]:
    """Returns the nodes that may hand out a variable's own memory."""
    variables = {parse(tensor).node for tensor in plan.aliases}
    found: Set[str] = set()
    for name in ordered:
        inputs = graph.inputs(name)
        reads = graph.type(name) == "ReadVariableOp"
        if reads or (graph.type(name) in _VIEWS and inputs and inputs[0].node in variables | found):
            found.add(name)
    return found


def _float_outputs(graph: Graph, signatures: Signatures, name: str, members: Collection[str]) -> List[TensorId]:
    """Returns the outputs of a node that hold floats and are used, or are its first."""
    node = graph.nodes[name]
    if not signatures.knows(node.op):
        return []
    used = {use.output for use in graph.users(name) if use.node in members} | {0}
    outputs = [output.dtype if output.argument not in _FLOWS else None for output in signatures.outputs(node)]
    return [TensorId(name, i) for i, dtype in enumerate(outputs) if i in used and dtype in FLOATS]
