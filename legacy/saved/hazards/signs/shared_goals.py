"""Hazard of a generator that is trained towards its critic's output for generated examples, and not for real ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Dict, Tuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies, filled
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from legacy.saved.hazards.signs.equal_targets import layer, squared_distance
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {product with a weight, or normalization with an offset: (that variable, what a loss pushes the results to, which may
#: be infinite)}.
Goals = Dict[str, Tuple[str, float]]
_PRODUCTS = ("MatMul", "Conv2D")
#: {fused normalization: the input that is its offset}.
_OFFSETS = {"FusedBatchNorm": 2, "FusedBatchNormV2": 2, "FusedBatchNormV3": 2}


def generators_with_critics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that push a critic's output for generated examples where the critic's own loss does; one for all.

    The critic pushes its output for real examples elsewhere. A loss pushes an output towards a constant label or
    number, or in one direction, as a hinge or a mean does.
    """
    graph, trained, targets = whole.graph, trained_by(whole), minimized_targets(whole)
    if len({frozenset(names) for names in trained.values()}) < 2:
        return
    entropies = sigmoid_entropies(whole)
    goals = {target: goals_of_outputs(whole, target, entropies) for target in targets if target in trained}
    for critic, own in goals.items():
        for generator, others in goals.items():
            if trained[critic] & trained[generator]:
                continue
            made = {name for name in (*own, *others) if graph.ancestors([name], controls=False) & trained[generator]}
            for product, (weight, goal) in others.items():
                taught = _taught(whole, trained, critic, product, weight)
                if not taught or product not in made or not _agree(others, weight, goal):
                    continue
                of_made = {product: own[product]} if product in own else {n: own[n] for n in own if n in made}
                of_others = {number for n, (one, number) in own.items() if one == weight and n not in made}
                if _agree(of_made, weight, goal) and of_others and goal not in of_others:
                    yield Hazard(
                        "GENERATOR_HELPS_CRITIC",
                        product,
                        f"{generator} {_words(goal)} {product}, the output for generated examples, and {critic}, "
                        f"which trains {taught}, does the same: both losses have one goal, where they "
                        "should oppose each other",
                        "give the generator's loss the label of real examples, or the other sign; for parity keep it",
                    )
                    return


def _taught(whole: WholeGraph, trained: Mapping[str, set[str]], critic: str, product: str, weight: str) -> str:
    """Returns what a critic trains of the network that ends in a product; "" for another network.

    Args:
      whole: the graph.
      trained: {loss: the variables that it trains}.
      critic: the critic's loss.
      product: the network's output.
      weight: its last weight, which may be trained by no loss, as where a `var_list` by name leaves it out.
    """
    if weight in trained[critic]:
        return f"the weight {weight}"
    if any(weight in names for names in trained.values()):
        return ""
    behind = whole.graph.ancestors([product], controls=False) & trained[critic]
    return f"{min(behind)} before it" if behind else ""


def _agree(goals: Goals, weight: str, goal: float) -> bool:
    """Whether a loss pushes all outputs of one weight to the same number."""
    return {number for one, number in goals.values() if one == weight} == {goal}


def _words(goal: float) -> str:
    return f"pushes towards {goal:g}" if math.isfinite(goal) else "raises" if goal > 0 else "lowers"


def sigmoid_entropies(whole: WholeGraph) -> dict[str, CrossEntropy]:
    """Returns {op: cross entropy} of the sigmoid cross entropies that are minimized."""
    return {entropy.op: entropy for entropy in cross_entropies(whole) if entropy.is_sigmoid}


def goals_of_outputs(whole: WholeGraph, target: str, entropies: Mapping[str, CrossEntropy]) -> Goals:
    """Returns the goals of a loss's products with weights; of a label, the way to it, since logits have no end.

    Args:
      whole: the graph.
      target: the loss.
      entropies: see `sigmoid_entropies`.

    Returns:
      {product: (weight, goal)}.
    """
    graph, found = whole.graph, {}
    pushes = Pushes(whole, [target])
    for name in graph.ancestors([target], controls=False):
        weighed = "" if is_gradient_op(name) else _weight_or_offset(whole, name)
        sign = pushes.sign(TensorId(name, 0)) if weighed else 0
        weight = variable_read(graph, weighed, READS_IN_BRANCHES) if sign else ""
        if sign and weight:
            found[name] = weight, -sign * math.inf
    for name, sign in linear_signs(whole, target).items():
        drawn = squared_distance(whole, name)
        if name in entropies:
            label = filled(whole, entropies[name].labels.node)
            way = 0.0 if label is None or label == 0.5 else math.inf if label > 0.5 else -math.inf
            drawn = entropies[name].logits.node, sign * way if sign and way else None
        elif drawn is not None and sign < 0:
            drawn = None
        weight, product = layer(whole, drawn[0]) if drawn is not None else ("", "")
        if drawn is not None and drawn[1] is not None and weight:
            found[product] = weight, drawn[1]
    return found


def _weight_or_offset(whole: WholeGraph, name: str) -> str:
    """Returns the second factor of a product, or the offset of a normalization, whose elements all outputs rise with.

    A product that is normalized has no direction of its own, since the mean of the batch is taken from it.
    """
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [tensor.node for tensor in graph.inputs(name)]
    if kind in _PRODUCTS:
        return inputs[1]
    if kind in _OFFSETS:
        return inputs[_OFFSETS[kind]]
    shifts = [node for node in inputs if graph.type(node) == "Sub"] if kind in op_types.SUMS_OF_TWO else []
    return graph.inputs(shifts[0])[0].node if len(shifts) == 1 else ""  # offset - mean * scale
