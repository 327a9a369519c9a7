"""Hazards of losses with a wrong sign or exchanged branches: minimized overlaps, smooth L1, the focal factor."""

from __future__ import annotations

import math
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.evaluation import evaluate
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "Cast")
_SQUARES = ("Square", "Pow")
#: A logit of which the prediction is nearly certain, the cost of one that is {right?}, and a share that is near 0.
_CERTAIN_LOGIT, _CERTAIN_COST, _NEAR_ZERO = 12.0, {True: 6e-6, False: 12.0}, 1e-2


def minimized_overlaps(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which an overlap is added, sum(p y) / (sum(p) + sum(y)), as of Dice; one hazard for all."""
    graph = whole.graph
    for target in whole.targets:
        for name, sign in linear_signs(whole, target).items():
            if graph.type(name) == "Log":  # of which the loss has the overlap, or its minus
                name = graph.origin(graph.inputs(name)[0]).node
            if sign <= 0 or graph.type(name) not in op_types.QUOTIENTS or is_gradient_op(name):
                continue
            above, below = (graph.inputs(name)[place].node for place in (0, 1))
            products = [factors for factors in map(lambda node: _factors(whole, node), _sums(whole, above)) if factors]
            added = {node for total in _sums(whole, below) for node in _elements(whole, total)}
            are_added = any(set(factors) <= added for factors in products)
            if (are_added or _is_of_masked(whole, above, below)) and target in minimized_targets(whole):
                yield Hazard(
                    "OVERLAP_MINIMIZED",
                    name,
                    f"the loss {target} grows with the overlap {name} (such as Dice or IoU) of prediction and label: "
                    "it is lower where they overlap less",
                    "minimize 1 - overlap; for parity keep the sign",
                )
                return


def _is_of_masked(whole: WholeGraph, above: str, below: str) -> bool:
    """Whether a quotient is sum(p y m) / (sum(p m) + sum(y m)) of probabilities, labels and a mask of data."""
    graph, sums = whole.graph, [_leaves(whole, total) for total in _sums(whole, below)]
    for leaves in [_leaves(whole, total) for total in _sums(whole, above)]:
        trained = {leaf for leaf in leaves if graph.ancestors([leaf], controls=False) & whole.trainable}
        kinds = {graph.type(source_of_elements(graph, TensorId(leaf, 0)).node) for leaf in trained}
        is_of_three = len(trained) == 1 and len(leaves) == 3 and leaves <= whole.data
        if is_of_three and kinds <= {"Sigmoid", "Softmax"}:
            shares = [one for one in sums if len(one) == 2 and one < leaves and trained <= one]
            others = [one for one in sums if one == leaves - trained]
            if shares and others:
                return True
    return False


def _leaves(whole: WholeGraph, total: str) -> set[str]:
    """The factors of the products that a Sum adds up, however these are nested."""
    graph, todo, found = whole.graph, [_past(whole, whole.graph.inputs(total)[0].node)], set()
    while todo:
        name = todo.pop()
        if graph.type(name) == "Mul" and not is_gradient_op(name):
            todo += [_past(whole, tensor.node) for tensor in graph.inputs(name)]
        else:
            found.add(name)
    return found


def _sums(whole: WholeGraph, name: str) -> list[str]:
    """The Sum ops of which a node is a sum with positive weights."""
    return [node for node, sign in linear_signs(whole, name).items() if sign > 0 and whole.graph.type(node) == "Sum"]


def _elements(whole: WholeGraph, total: str) -> list[str]:
    """The tensors whose elements, or their squares, a Sum adds up."""
    graph, name = whole.graph, _past(whole, whole.graph.inputs(total)[0].node)
    if graph.type(name) in op_types.ADDITIONS:
        return [_past(whole, tensor.node) for tensor in graph.inputs(name)]
    return [name] + ([_past(whole, graph.inputs(name)[0].node)] if graph.type(name) in (*_SQUARES, "Mul") else [])


def _factors(whole: WholeGraph, total: str) -> list[str]:
    """The probabilities and the labels whose product a Sum adds up; [] of any other."""
    graph = whole.graph
    product = _past(whole, graph.inputs(total)[0].node)
    factors = [_past(whole, tensor.node) for tensor in graph.inputs(product)] if graph.type(product) == "Mul" else []
    trained = [bool(graph.ancestors([factor], controls=False) & whole.trainable) for factor in factors]
    is_of_both = sorted(trained) == [False, True] and all(factor in whole.data for factor in factors)
    kinds = [graph.type(source_of_elements(graph, TensorId(factor, 0)).node) for factor in factors]
    return factors if is_of_both and ("Sigmoid" in kinds or "Softmax" in kinds) else []


def _past(whole: WholeGraph, name: str) -> str:
    while whole.graph.type(name) in _COPIES:
        name = whole.graph.inputs(name)[0].node
    return name


def exchanged_branches(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds where(|d| < 1, |d| - 0.5, 0.5 d^2): smooth L1 with its branches exchanged; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Select", "SelectV2"):
        condition, chosen, other = (graph.origin(tensor).node for tensor in graph.inputs(name)[:3])
        if graph.type(condition) not in ("Less", "LessEqual") or is_gradient_op(name):
            continue
        size = graph.origin(graph.inputs(condition)[0]).node
        if graph.type(size) == "Abs" and _degree(whole, chosen, size) == 1 and _degree(whole, other, size) == 2:
            yield Hazard(
                "BRANCHES_EXCHANGED",
                name,
                f"{name} is linear where {size} is small, and quadratic where it is large: smooth L1 with its "
                "branches exchanged",
                "exchange them; for parity keep them",
            )
            return


def _degree(whole: WholeGraph, name: str, size: str) -> int:
    """1 of a multiple of |d|, perhaps less a number, 2 of a multiple of d^2; 0 of anything else."""
    graph = whole.graph
    while True:
        kind, inputs = graph.type(name), [graph.origin(tensor).node for tensor in graph.inputs(name)]
        own = {size, *[graph.origin(tensor).node for tensor in graph.inputs(size)]}
        if name == size:
            return 1
        if kind in _SQUARES and inputs[0] in own:
            return 2 if kind == "Square" or whole.value(inputs[1]) == 2 else 0
        scaled = constant_factor(whole, name) if kind == "Mul" else None
        if kind == "Mul" and scaled is None:
            bare = [_unscaled(whole, before) for before in inputs]
            return 2 if len(bare) == 2 and set(bare) <= own else 0
        if scaled is not None:
            name = graph.origin(graph.inputs(name)[0 if inputs[0] == scaled[0] else 1]).node
        elif kind == "Sub" and whole.value(inputs[1]) is not None:
            name = inputs[0]
        else:
            return 0


def _unscaled(whole: WholeGraph, name: str) -> str:
    scaled = constant_factor(whole, name) if whole.graph.type(name) == "Mul" else None
    return _unscaled(whole, scaled[0]) if scaled is not None else name


def focal_factors(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies times a factor that is near 0 where the prediction is wrong, and large where it is right.

    That is p^gamma in place of the (1 - p)^gamma of the focal loss. One hazard for all.
    """
    for entropy in [one for one in cross_entropies(whole) if not one.is_product]:
        for product, factor in _factors_of_entropy(whole, entropy.op):
            if _is_largest_where_right(whole, factor, entropy) and gradient_flow(whole).passes(product):
                yield Hazard(
                    "FOCUS_ON_EASY_EXAMPLES",
                    product,
                    f"{product} multiplies the cross entropy {entropy.op} by {factor.node}, which is near 0 for wrong "
                    "predictions and largest for right ones: wrong predictions add almost nothing to the loss",
                    "a focal loss multiplies by (1 - p)^gamma, p the probability of the label; for parity keep it",
                )
                return


def _factors_of_entropy(whole: WholeGraph, name: str) -> Iterator[tuple[str, TensorId]]:
    """Yields (product, factor that depends on weights) of the products that a cross entropy goes through."""
    todo = [name]
    while todo:
        name = todo.pop()
        for user in {use.node for use in whole.graph.users(name)} & whole.minimized:
            inputs = whole.graph.inputs(user)
            if whole.graph.type(user) == "Mul" and not is_gradient_op(user):
                others = [tensor for tensor in inputs if tensor.node != name]
                todo.append(user)
                for other in others:
                    if whole.graph.ancestors([other.node], controls=False) & whole.trainable:
                        yield user, other
            elif whole.graph.type(user) in _COPIES:
                todo.append(user)


def _is_largest_where_right(whole: WholeGraph, factor: TensorId, entropy: CrossEntropy) -> bool:
    """Whether a function of logits and labels is near 0 for wrong predictions and not for right ones."""
    for label in (1.0, 0.0) if entropy.is_sigmoid else (1.0,):
        wrong, right = (_factor_where(whole, factor, entropy, label, is_right) for is_right in (False, True))
        if wrong is None or right is None or right <= 0 or abs(wrong) > _NEAR_ZERO * right:
            return False
    return True


def _factor_where(
    whole: WholeGraph, factor: TensorId, entropy: CrossEntropy, label: float, is_right: bool
) -> float | None:
    """The value of a factor where a prediction is nearly certain.

    Args:
      whole: the graph.
      factor: the tensor.
      entropy: the cross entropy that it multiplies.
      label: of the class, 0 or 1.
      is_right: whether the prediction is right.

    Returns:
      The value, or None if it is none of logits, labels, the label's probability and the cross entropy alone.
    """
    cost = _CERTAIN_COST[is_right]
    given = {TensorId(entropy.op, 0): cost}
    if entropy.is_sigmoid:
        given[entropy.logits] = _CERTAIN_LOGIT if is_right == (label == 1) else -_CERTAIN_LOGIT
        given[entropy.labels] = label
    else:  # sum(softmax * labels), the probability of the label
        graph = whole.graph
        for name in graph.ancestors([factor.node], controls=False):
            inner = [graph.type(graph.origin(t).node) for n in _inputs(whole, name, "Sum") for t in graph.inputs(n)]
            if "Softmax" in inner:
                given[TensorId(name, 0)] = math.exp(-cost)
    return evaluate(whole, factor, given)


def _inputs(whole: WholeGraph, name: str, kind: str) -> list[str]:
    """The product that a node of some type takes; [] of another node."""
    found = [whole.graph.origin(t).node for t in whole.graph.inputs(name)[:1]] if whole.graph.type(name) == kind else []
    return [node for node in found if whole.graph.type(node) == "Mul"]
