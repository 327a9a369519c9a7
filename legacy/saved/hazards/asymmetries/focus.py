"""Hazards of a focal loss by hand: a factor that is largest for what is right already, or a missing minus sign."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_BOUNDS = ("Identity", "Maximum", "Minimum", "ClipByValue", *op_types.ADDITIONS)


def factors_of_one_term(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds p^g log(p), or (1 - p)^g log(1 - p), of a sigmoid p, in place of exchanged bases; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Log") if not is_gradient_op(name)]:
        probability, sign = _side(whole, graph.inputs(name)[0].node)
        if not sign or name not in whole.data:
            continue
        for factor in _factors(whole, name):
            power = _base(whole, factor)
            if power and _side(whole, power) == (probability, sign):
                yield Hazard(
                    "FOCUS_ON_EASY_EXAMPLES",
                    factor,
                    f"{name} is multiplied by {factor}, a power of the same probability: wrong predictions, whose "
                    "probability is near 0, add almost nothing to the loss",
                    "log(p) has the factor (1 - p)^gamma, and log(1 - p) has p^gamma; for parity keep it",
                )
                return


def minimized_focal_losses(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds (1 - p)^g log(p) of a sigmoid p that is added to a loss, without a minus sign; one hazard for all.

    The target trains all weights of p: the loss of an adversary lowers a probability by intention.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        pushes = None
        before = graph.ancestors([target], controls=False)
        for name in [name for name in whole.minimized_ops("Log") if name in before and not is_gradient_op(name)]:
            probability, sign = _side(whole, graph.inputs(name)[0].node)
            bases = [_side(whole, base) for base in (_base(whole, one) for one in _factors(whole, name)) if base]
            if not sign or (probability, -sign) not in bases or not gradient_flow(whole).passes(name):
                continue
            pushes = pushes or Pushes(whole, [target])
            weights = graph.ancestors([name], controls=False) & whole.trainable
            if pushes.sign(TensorId(name, 0)) == 1 and weights <= trained_by(whole).get(target, set()):
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    name,
                    f"{target} contains a focal loss without its minus sign: it rises with {name}, the logarithm of a "
                    "probability, and falls where the labels become less likely",
                    "multiply the term by -1; for parity keep the sign",
                )
                return


def _side(whole: WholeGraph, name: str) -> tuple[str, int]:
    """(p, 1) of a sigmoid p, perhaps bounded, (p, -1) of 1 - p; ("", 0) of anything else.

    So it is of the choice that labels make between a sigmoid and 1 less it, the probability of what is right.
    """
    graph, sign = whole.graph, 1
    while True:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) == "Sigmoid" or (graph.type(name) in op_types.CHOICES and _is_of_label(whole, name)):
            return name, sign
        others = [before for before in inputs if whole.value(before) is None]
        if graph.type(name) == "Sub" and others == inputs[1:] and whole.value(inputs[0]) == 1:
            name, sign = inputs[1], -sign
        elif graph.type(name) in _BOUNDS and len(others) == 1:
            name = others[0]
        else:
            return "", 0


def _is_of_label(whole: WholeGraph, choice: str) -> bool:
    """Whether a node chooses between a sigmoid and 1 less it, by what data alone decide."""
    condition, *branches = (tensor.node for tensor in whole.graph.inputs(choice)[:3])
    sides = [_side(whole, branch) for branch in branches]
    is_given = condition in whole.data and condition not in made_by_weights(whole)
    return is_given and sides[0][0] == sides[1][0] and sorted(sign for _, sign in sides) == [-1, 1]


def _factors(whole: WholeGraph, name: str) -> list[str]:
    """The other factors of the products that a node is a factor of."""
    graph, found, todo = whole.graph, [], [name]
    while todo:
        name = todo.pop()
        for user in {use.node for use in graph.users(name)} & whole.minimized:
            if graph.type(user) == "Mul" and not is_gradient_op(user):
                others = [graph.origin(tensor).node for tensor in graph.inputs(user) if tensor.node != name]
                todo.append(user)
                while others:
                    other = others.pop()
                    found.append(other)
                    if graph.type(other) in ("Mul", "Neg") and not squared(whole, other):
                        others += [graph.origin(tensor).node for tensor in graph.inputs(other)]
            elif graph.type(user) in ("Neg", "Identity"):
                todo.append(user)
    return found


def _base(whole: WholeGraph, name: str) -> str:
    """The base of a power with a constant exponent above 0; "" of anything else."""
    square = squared(whole, name)
    if square is not None:
        return square.node
    inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Pow" else []
    return inputs[0] if inputs and (whole.value(inputs[1]) or 0) > 0 else ""
