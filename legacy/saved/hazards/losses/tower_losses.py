"""Hazards of the weights of towers' losses: divided twice, or with other towers' terms in them."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.loss_scale import may_be_its_own, sizes_of_inputs
from legacy.saved.analysis.reduction.multipliers import multiplier_of_mean
from legacy.saved.facts.basics.joint_losses import is_differentiated_by_each
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated, differentiations
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that join gradients, and hand them on.
_JOINS_GRADIENTS = (
    *op_types.ADDITIONS,
    *op_types.JOINS,
    *op_types.REDUCTIONS,
    *op_types.SCALINGS,
    *("ExpandDims", "Identity", "Pack", "Reshape"),
)
#: Relative difference within which two towers' terms count alike.
TOLERANCE = 1e-5


def losses_divided_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops whose towers divide their losses by N, and whose gradients are averaged over N besides."""
    count = found.plan.towers
    for phase in found.plan.phases:
        divided = not phase.shared_loss and abs(phase.loss_scale * count - 1) < TOLERANCE
        if phase.losses and divided and takes_means(found, phase):
            loss = parse_tensor_name(phase.losses[0]).node
            sizes = sizes_of_inputs(found.plan)
            if not may_be_its_own(found.cut.graph, found.context.data, loss, count, sizes):
                yield Hazard(
                    "LOSS_DIVIDED_TWICE",
                    loss,
                    f"each of the {count} towers divides its loss by {count}, and their gradients are averaged "
                    f"besides: {phase.train_op} takes 1/{count} of the mean loss's gradient",
                    f"divide once; for parity keep both, or give an optimizer that does not normalize 1/{count} of the "
                    "learning rate",
                )


def takes_means(found: Analysis, phase: Phase) -> bool:
    """Returns whether all updates of a train op take means of the towers' gradients, or multiples that are no sums.

    An update by hand subtracts a mean times the learning rate.

    Args:
      found: the analysis.
      phase: the train op.
    """
    count = found.plan.towers
    factors = [
        1.0 if one.kind == "mean" else multiplier_of_mean(found.cut.graph, found.context.imported, one, count)
        for one in phase.combine
    ]
    return bool(factors) and count > 1 and all(f is not None and abs(f / count - 1) > TOLERANCE for f in factors)


def losses_differentiated_by_each(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops of which each tower differentiates the one loss of all towers, which gives N equal gradients.

    So does each device, where none has a forward pass of its own, so that all are one tower.
    """
    count = found.plan.towers
    for phase in found.plan.phases:
        joined = _joined_gradients(found, phase.combine[0].tensor) if count == 1 and phase.combine else []
        if len(joined) > 1:
            yield Hazard(
                "LOSS_DIFFERENTIATED_BY_EACH",
                joined[1],
                f"the same loss of the same examples is differentiated {len(joined)} times, as by each device "
                f"({joined[0]} and {joined[1]}), and all these gradients are equal: their mean is one of them, and "
                "nothing is computed in parallel",
                "each replica computes the loss of its own part of the examples; for parity one gradient is enough",
            )
            return
        if is_differentiated_by_each(found.cut.graph, count, phase):
            summed = any(one.kind == "sum" and not takes_means(found, phase) for one in phase.combine)
            times = f"their sum is {count} times it" if summed else f"{count} times the work for one gradient"
            yield Hazard(
                "LOSS_DIFFERENTIATED_BY_EACH",
                parse_tensor_name(phase.combine[0].parts[0][0]).node,
                f"each of the {count} towers differentiates the one loss of all of them, so that each has the whole "
                f"gradient: {times}",
                "each replica differentiates its own part of the loss, and the sum over replicas is the gradient"
                + (f"; for parity multiply it by {count}" if summed else ""),
            )


def _joined_gradients(found: Analysis, tensor: str) -> list[str]:
    """The gradients by one variable that a sum or mean joins, if each gradient graph is of one and the same loss."""
    graph, todo, ends = found.cut.graph, [parse_tensor_name(tensor).node], []
    while todo:
        name = todo.pop()
        if is_gradient_op(name):
            ends.append(name)
        elif graph.type(name) in _JOINS_GRADIENTS:
            todo += [before.node for before in reversed(graph.inputs(name)) if graph.type(before.node) != "Const"]
        else:
            return []
    starts = [differentiations(graph, graph.ancestors([name], controls=False)) for name in ends]
    roots = {root for one in starts for root in one}
    losses = {loss for one in starts for targets in one.values() for loss in targets}
    return ends if len(losses) == 1 and len(roots) == len(ends) and all(len(one) == 1 for one in starts) else []


def terms_of_other_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers' losses that contain other towers' terms, where these then count more often than the others."""
    if whole.count < 2:
        return
    counts: collections.Counter[int] = collections.Counter()
    leaked: collections.Counter[int] = collections.Counter()
    leaks: list[tuple[str, int, set[int]]] = []
    for target in differentiated(whole.graph, whole.reach & whole.members):
        tower = whole.labels.get(target)
        if tower is None:
            return  # one loss of all towers
        found = _weights_of_towers(whole, target)
        counts.update(found)
        leaked.update({number: weight for number, weight in found.items() if number != tower})
        if set(found) - {tower}:
            leaks.append((target, tower, set(found) - {tower}))
    if not leaks:
        return
    target, tower, others = leaks[-1]
    is_whole = max(leaked.values()) > (1 - TOLERANCE) * min(counts.values())  # and no smaller term alone
    if is_whole and _are_unequal([counts[number] for number in whole.towers()]):
        times = ", ".join(f"{counts[number]:g}" for number in whole.towers())
        yield Hazard(
            "TERMS_OF_OTHER_TOWERS",
            target,
            f"the loss of tower {tower} contains those of {listed_towers(others)}: in the sum of all towers' losses, "
            f"what each tower makes of its examples counts {times} times",
            "let each replica's loss be of its own examples; for parity, weight the replicas' losses so",
        )
    elif not is_whole and _are_unequal([leaked[number] for number in whole.towers()]):
        yield Hazard(
            "TERMS_OF_OTHER_TOWERS",
            target,
            f"the loss of tower {tower} contains terms of the examples of {listed_towers(others)}, such as a "
            "collection holds that each tower adds to: in the sum of all towers' losses these terms do not count alike",
            "let each replica's loss be of its own examples; for parity, keep the other replicas' terms in it",
        )


def _are_unequal(weights: list[float]) -> bool:
    return max(weights) - min(weights) > TOLERANCE * max(weights)


def _weights_of_towers(whole: WholeGraph, target: str) -> dict[int, float]:
    """{tower: weight of its own terms in the differentiated loss; the largest of several}."""
    found: dict[int, float] = {}
    for name, weight in linear_weights(whole, target).items():
        if name in whole.data and name in whole.labels and weight and not list(linear_inputs(whole, name)):
            tower = _tower_of_examples(whole, name)
            found[tower] = max(found.get(tower, 0.0), abs(weight))
    return found


def _tower_of_examples(whole: WholeGraph, name: str) -> int:
    """The tower of a term: another than its op's, if all that the op takes is another tower's results of weights."""
    own, others = whole.labels[name], set()
    seen, todo = {name}, [name]
    while todo:
        node = todo.pop()
        before = {tensor.node for tensor in whole.graph.inputs(node)} & whole.data
        if whole.labels.get(node, own) != own and node in made_by_weights(whole):
            others.add(whole.labels[node])
        elif not before or whole.labels.get(node, own) != own:
            return own
        else:
            todo += before - seen
            seen |= before
    return others.pop() if len(others) == 1 else own
