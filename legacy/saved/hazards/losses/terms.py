"""Hazards of the terms of a loss: repeated ones, sums beside means, and logarithms of what may underflow."""

from __future__ import annotations

import collections
import math
from collections.abc import Collection, Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.reduction.growth import Growth
from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import choice_by_code
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_inputs, linear_weights, reduces_nothing
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.support.wording import FEW, counted, listed

#: Ops that hand a scalar on.
COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims")
#: Relative difference within which a number is whole.
TOLERANCE = 1e-5
#: Most examples that a batch of open size is taken to have: one over a larger number is a weight.
MOST_EXAMPLES = 1 << 16


def repeated_terms(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms that a sum which is minimized contains several times; of towers, those of the first such loss."""
    for target in whole.targets:
        added = _times_added(whole.graph, target)
        times = {term: count for term, count in added.items() if count > 1} or _computed_again(whole, added)
        if times:
            names = listed(list(times), FEW)
            most = max(times.values())
            yield Hazard(
                "TERM_REPEATED",
                target,
                f"{target} adds {counted(len(times), 'term')} {most} times: {names}",
                "a loss may be in two collections, or be added by a helper and its caller: add each once; for parity, "
                "as often as the old program did",
            )
            return


def sums_beside_means(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a loss of a mean over examples and of a sum over them that no multiple of their number divides."""
    for phase in found.plan.phases:
        loss = next((parse_tensor_name(name).node for name in phase.losses[:1]), "")
        weights = linear_weights(whole, loss) if loss in whole.graph.nodes else {}
        terms = {name: weight for name, weight in weights.items() if name in whole.data and weight}
        terms = {name: weight for name, weight in terms.items() if not list(linear_inputs(whole, name))}
        means = [name for name in terms if _is_mean(whole, name)]
        divided = _divided_by_examples(whole, found, weights)
        growth = Growth(whole.graph, found.context.imported, whole.data, found.plan.batch)
        sums = [name for name in terms if name not in divided and _is_sum(whole, found, growth, name)]
        if means and sums:
            yield Hazard(
                "SUM_BESIDE_MEAN",
                sums[0],
                f"{loss} adds {sums[0]}, a sum over {_examples(found.plan.batch)}, times "
                f"{terms[sums[0]]:.4g}, to {means[0]}, a mean: with another batch of a replica it has another weight",
                "divide it by the number of examples, and multiply its weight by the old number; for parity keep the "
                "batch of a replica, or this weight",
            )
            return


def _examples(batch: int | None) -> str:
    return f"the {batch} examples of a tower" if batch else "all rows of a batch, which takes any number"


def _is_mean(whole: WholeGraph, name: str) -> bool:
    """Whether a scalar is a mean, or a sum that is divided by a number of the data, as `tf.losses` makes it."""
    if whole.graph.type(name) in op_types.CHOICES:
        name = whole.graph.origin(whole.graph.inputs(name)[1]).node
    return whole.graph.type(name) in ("Mean", *op_types.QUOTIENTS)


def _is_sum(whole: WholeGraph, found: Analysis, growth: Growth, name: str) -> bool:
    """Whether a node adds up what weights compute of each example: over all dimensions, the first one included."""
    graph, imported = whole.graph, found.context.imported
    if graph.type(name) not in ("Sum", "L2Loss") or imported.shape(name) != ():
        return False
    shape = imported.shape(*graph.inputs(name)[0])
    if (
        shape is None
        or shape[:1] != (found.plan.batch,)
        or not graph.ancestors([name], controls=False) & whole.trainable
    ):
        return False
    return growth.power(TensorId(name, 0)) == 1


def _divided_by_examples(whole: WholeGraph, found: Analysis, names: Collection[str]) -> set[str]:
    """The linear parts of nodes that divide by a multiple of a tower's number of examples, or by half of one.

    Bits, as per pixel, are natural logarithms that are divided by log(2) besides. Where a batch may have any number of
    examples, whatever may be one divides.
    """
    divided, batch = set(), found.plan.batch
    for name in names:
        factor = constant_factor(whole, name)
        number = 1 / abs(factor[1]) if factor is not None and factor[1] else 0.0
        numbers = (number, number / math.log(2))
        if batch and any(_counts(times / batch) for times in numbers):
            divided |= set(linear_weights(whole, name))
        elif not batch and number:
            parts = {part: _size_of_example(whole, found, part) for part in linear_weights(whole, name)}
            divided |= {part for part, size in parts.items() if any(_may_count(times, size) for times in numbers)}
    return divided


def _size_of_example(whole: WholeGraph, found: Analysis, name: str) -> int:
    """The number of numbers of each example that a node reduces; 0 where that is not known."""
    inputs = whole.graph.inputs(name)
    shape = found.context.imported.shape(*inputs[0]) if inputs else None
    return int(np.prod([size or 0 for size in shape[1:]])) if shape else 0


def _may_count(number: float, size: int) -> bool:
    """Whether a number may be that of the examples of a batch of open size, or of all their numbers."""
    whole = round(number)
    if whole < 2 or abs(number - whole) > TOLERANCE * number:
        return False
    return whole <= MOST_EXAMPLES or not size or (whole % size == 0 and whole // size <= MOST_EXAMPLES)


def _counts(times: float) -> bool:
    """Whether a number is whole and not 0, or a half."""
    is_multiple = times > 1 - TOLERANCE and abs(times - round(times)) < TOLERANCE * times
    return is_multiple or abs(2 * times - 1) < TOLERANCE


def logarithms_of_probabilities(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a loss with the logarithm of a softmax or a sigmoid, to which nothing positive is added; one for all.

    One that no gradient passes is none, such as the logits that `tf.multinomial` draws from.
    """
    graph = whole.graph
    for name in whole.minimized_ops("Log"):
        probability, is_guarded = _probability(graph, graph.inputs(name)[0].node)
        if probability and gradient_flow(whole).passes(name) and not _scales_results(whole, probability):
            yield Hazard(
                "LOG_OF_PROBABILITY",
                name,
                f"{name} is the logarithm of 1 less the sum of {probability} and a constant: where a probability "
                "rounds to 1, that is 0 or less, and the loss infinite or NaN, also behind a mask of zeros"
                if is_guarded
                else f"{name} is the logarithm of {probability}: where a probability underflows to 0, the loss is "
                "infinite and its gradient NaN",
                "cross entropy of the logits, such as tf.nn.softmax_cross_entropy_with_logits, has no such numbers; "
                "for parity, leave it as it is",
            )
            return


def _scales_results(whole: WholeGraph, name: str) -> bool:
    """Whether a sigmoid multiplies what weights compute, as the scale of a flow, and is no probability.

    An entropy multiplies it by a logarithm of it. What a flow scales may have logarithms of earlier scales behind it.
    """
    graph = whole.graph
    if graph.type(name) != "Sigmoid":
        return False
    users = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul" and use.node in whole.minimized]
    others = {tensor.node for user in users for tensor in graph.inputs(user)} - {name}
    behind = [graph.ancestors([other], controls=False) for other in others]
    logarithms = [[one for one in nodes if graph.type(one) == "Log"] for nodes in behind]
    entropies = [name in graph.ancestors(found, controls=False) for found in logarithms]
    return any(nodes & whole.trainable and not is_entropy for nodes, is_entropy in zip(behind, entropies))


def _probability(graph: Graph, name: str) -> tuple[str, bool]:
    """Returns the softmax or sigmoid that a node hands on, takes from 1, or chooses one number of; "" for another node.

    Also whether it is taken from 1 together with a positive constant: a number to guard its own logarithm, which makes
    1 less it 0, or less.
    """
    name, is_guarded = _handed_on(graph, name), False
    choice = choice_by_code(graph, name)
    name = choice.values.node if choice else name
    if graph.type(name) == "Sub" and graph.type(graph.inputs(name)[0].node) == "Const":
        name = _handed_on(graph, graph.inputs(name)[1].node)
        sums = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) in op_types.SUMS_OF_TWO else []
        others = [one for one in sums if (scalar_constant(graph.nodes[one]) or 0) <= 0]
        is_guarded = len(sums) == 2 and len(others) == 1
        name = _handed_on(graph, others[0]) if is_guarded else name
    return (name, is_guarded) if graph.type(name) in op_types.PROBABILITIES else ("", False)


def _handed_on(graph: Graph, name: str) -> str:
    """Returns the node that a node gives numbers of, each as it is."""
    while graph.type(name) in (*COPIES, "Transpose", *op_types.SLICES, *op_types.PICKS) and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name


def _computed_again(whole: WholeGraph, terms: Collection[str]) -> dict[str, int]:
    """{first of several terms of a tower that compute the same of the same weights and data: how many there are}."""
    numbers = structures(whole)
    groups: dict[object, list[str]] = collections.defaultdict(list)
    for term in terms:
        if term in made_by_weights(whole) and term in whole.data:
            groups[numbers.get(term, term), whole.labels.get(term)].append(term)
    return {names[0]: len(names) for names in groups.values() if len(names) > 1}


def _times_added(graph: Graph, target: str) -> dict[str, int]:
    """Returns {term: number of times that a sum contains it}; of a node that is no sum, itself, once."""
    times: collections.Counter[str] = collections.Counter({target: 1})
    terms: dict[str, int] = {}
    for name in reversed(graph.order(graph.ancestors([target], controls=False))):
        if name not in times:
            continue
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in op_types.ADDITIONS:
            added = inputs
        elif graph.type(name) in COPIES or reduces_nothing(graph, name):
            added = inputs[:1]
        else:
            added = []
            terms[name] = times[name]
        for before in added:
            times[before] += times[name]
    return {name: count for name, count in terms.items() if graph.type(name) != "Const"}
