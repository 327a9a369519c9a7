"""Hazard of an update that is multiplied by the norm of a gradient over that of its weight, as of an inverted LARS."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand a ratio on, perhaps bounded, or times an update.
_WAYS = (
    *(*COPIES, "Squeeze", "Select", "SelectV2", "Mul", "Minimum", "Maximum", "Neg", "Add", "AddV2", "Sub"),
    *(*op_types.SETS, "AssignSub", "AssignSubVariableOp", "AssignAdd", "AssignAddVariableOp"),
)
#: Ops that hand their first input on; and those that a divisor consists of besides.
_FIRST = (*COPIES, "Squeeze")
_DIVISORS = ("Add", "AddV2", "Maximum", *_FIRST)
#: Update rules whose step is proportional to the gradient.
_PROPORTIONAL = ("GradientDescent", "Momentum")


def inverted_trust_ratios(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates of a weight w times |g| / |w|, where LARS and LAMB have |w| / |g|; one hazard for all."""
    graph = whole.graph
    for name in graph.nodes:
        if name not in whole.members or graph.type(name) not in op_types.QUOTIENTS or is_gradient_op(name):
            continue
        above, below = (_norms_of(whole, tensor) for tensor in graph.inputs(name)[:2])
        changes = [norm for norm in above if not variable_read(graph, norm.node)]
        weight = variable_read(graph, below[0].node) if len(below) == 1 else ""
        if len(changes) != 1 or weight not in whole.trainable:
            continue
        if _follows_gradient(whole, changes[0].node) and _multiplies_update(whole, name, weight):
            yield Hazard(
                "TRUST_RATIO_INVERTED",
                name,
                f"{name} is the norm of the change {changes[0].node} over that of {weight}, and multiplies the "
                f"update of {weight}: large gradients have larger steps yet",
                "LARS and LAMB multiply by the norm of the weight over that of its change; for parity keep it",
            )
            return


def _norms_of(whole: WholeGraph, tensor: TensorId) -> list[TensorId]:
    """The tensors of whose norms a tensor is a sum, with constant factors, and perhaps a small number; none if others.

    A norm is that of all elements.
    """
    graph, name = whole.graph, tensor.node
    scaled = constant_factor(whole, name)
    if scaled is not None:
        return _norms_of(whole, TensorId(scaled[0], 0))
    if graph.type(name) in _DIVISORS:
        others = [one for one in graph.inputs(name) if whole.value(one.node) is None]
        found = [_norms_of(whole, one) for one in (others[:1] if graph.type(name) in _FIRST else others)]
        return [norm for norms in found for norm in norms] if all(found) else []
    total = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sqrt" else ""
    square = graph.inputs(total)[0].node if total and graph.type(total) == "Sum" else ""
    base = squared(whole, square) if square else None
    return [] if base is None else [base]


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
        rules = {use.node for use in graph.users(name) if graph.type(use.node).endswith(_PROPORTIONAL)} & updates
        if any(applied_gradient(whole, rule) == name for rule in rules):
            return True
        for user in {use.node for use in graph.users(name) if graph.type(use.node) in _WAYS} - seen:
            is_condition = graph.type(user) in op_types.CHOICES and graph.inputs(user)[0].node == name
            if not is_condition:
                seen.add(user)
                todo.append(user)
    return False
