"""The loss's gradients to tensors of a forward pass, as an old graph itself computes them.

An op's gradient function is the nodes in the scope "<op>_grad". The one tensor of the gradient graph that comes into
them from outside is the gradient to the op's output, already added up over all that read it.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, DefaultDict, Set

from workloads.lifted.double.signatures import Signatures
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph import parse_tensor_name as parse
from workloads.lifted.tensors.gradient_names import GRADIENTS, forward_name, is_gradient_op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def activation_gradients(graph: Graph, tensors: Sequence[TensorId], gradients: Iterable[str]) -> dict[TensorId, str]:
    """Finds the gradients to tensors of one tower's forward pass.

    Args:
      graph: of the lift.
      tensors: of the forward pass.
      gradients: the tower's gradients to its weights; what they are made from is searched.

    Returns:
      {tensor: name of its gradient}. Left out are tensors of ops whose gradient function has no ops, as that of a copy,
      and of ops with several outputs in use.
    """
    entering = _entering(graph, graph.ancestors([parse(name).node for name in gradients], controls=False))
    outputs = collections.Counter(tensor.node for tensor in tensors)
    hidden = graph.frames() | graph.branches()
    signatures = Signatures({function.signature.name: function for function in graph.graph_def.library.function})

    def dtype(tensor: TensorId) -> int:
        return signatures.outputs(graph.nodes[tensor.node])[tensor.output].dtype

    found = {}
    for tensor in tensors:
        candidates = entering.get(tensor.node, ())
        if len(candidates) == 1 and outputs[tensor.node] == 1:
            (gradient,) = candidates
            if dtype(gradient) == dtype(tensor) and gradient.node not in hidden:
                found[tensor] = gradient.name
    return found


def _entering(graph: Graph, members: Iterable[str]) -> DefaultDict[str, Set[TensorId]]:
    """Returns {op of a forward pass: tensors that come into its gradient function from other ones}."""
    found: DefaultDict[str, Set[TensorId]] = collections.defaultdict(set)
    for name in members:
        op = forward_name(name, graph.nodes) if is_gradient_op(name) else None
        if op is not None:
            found[op].update(tensor for tensor in graph.inputs(name) if _comes_from_outside(graph, tensor, op))
    return found


def _comes_from_outside(graph: Graph, tensor: TensorId, op: str) -> bool:
    return GRADIENTS.search(tensor.node) is not None and forward_name(tensor.node, graph.nodes) != op
