"""Hazard of an update that is multiplied by the norm of a gradient over that of its weight, as of an inverted LARS."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand a ratio on, perhaps bounded, or times an update.
_WAYS = (
    *(*COPIES, "Squeeze", "Select", "SelectV2", "Mul", "Minimum", "Maximum", "Neg", "Add", "AddV2", "Sub"),
    *(*op_types.SETS, "AssignSub", "AssignSubVariableOp", "AssignAdd", "AssignAddVariableOp"),
)
_DIVISORS = ("Add", "AddV2", "Maximum", *COPIES, "Squeeze")


def inverted_trust_ratios(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates of a weight w times |g| / |w|, where LARS and LAMB have |w| / |g|; one hazard for all."""
    graph = whole.graph
    for name in graph.nodes:
        if name not in whole.members or graph.type(name) not in op_types.QUOTIENTS or is_gradient_op(name):
            continue
        above, below = (_norm_of(whole, tensor) for tensor in graph.inputs(name)[:2])
        weight = variable_read(graph, below.node) if below is not None else ""
        if above is None or weight not in whole.trainable or variable_read(graph, above.node):
            continue
        if _follows_gradient(whole, above.node) and _multiplies_update(whole, name, weight):
            yield Hazard(
                "TRUST_RATIO_INVERTED",
                name,
                f"{name} is the norm of the change {above.node} over that of {weight}, and multiplies the update of "
                f"{weight}: large gradients have larger steps yet",
                "LARS and LAMB multiply by the norm of the weight over that of its change; for parity keep it",
            )
            return


def _norm_of(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """The tensor of which a tensor is the norm of all elements, to which a small number may be added."""
    graph, name = whole.graph, tensor.node
    while graph.type(name) in _DIVISORS:
        others = [one.node for one in graph.inputs(name) if whole.value(one.node) is None]
        if graph.type(name) in (*COPIES, "Squeeze"):
            others = others[:1]
        if len(others) != 1:
            return None
        name = others[0]
    total = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sqrt" else ""
    square = graph.inputs(total)[0].node if total and graph.type(total) == "Sum" else ""
    return squared(whole, square) if square else None


def _follows_gradient(whole: WholeGraph, name: str) -> bool:
    return any(is_gradient_op(node) for node in whole.graph.ancestors([name], controls=False))


def _multiplies_update(whole: WholeGraph, ratio: str, weight: str) -> bool:
    """Whether a ratio is a factor, and no divisor, of what an update of a weight adds or subtracts."""
    graph, todo, seen = whole.graph, [ratio], {ratio}
    updates = {name for name in whole.applies if whole.variable_of(name) == weight}
    while todo:
        name = todo.pop()
        if name in updates:
            return True
        for user in {use.node for use in graph.users(name) if graph.type(use.node) in _WAYS} - seen:
            is_condition = graph.type(user) in ("Select", "SelectV2") and graph.inputs(user)[0].node == name
            if not is_condition:
                seen.add(user)
                todo.append(user)
    return False
