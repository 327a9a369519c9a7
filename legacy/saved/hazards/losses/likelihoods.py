"""Hazard of a log-likelihood that is minimized, since its minus sign is missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS, constant_factor
from legacy.saved.hazards.basics.variable_reads import variables_behind
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.pushes import Pushes
from legacy.saved.hazards.signs.value_signs import ValueSigns
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_LAYERS = ("MatMul", "Conv2D")
#: Ops whose results are probabilities, and ops that bound them before their logarithm is taken.
_BOUNDS = ("Maximum", "Minimum", "Add", "AddV2", "Identity", "Reshape", "Cast")


def minimized_likelihoods(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which labels times the logarithms of probabilities are added; one hazard for all.

    Rewards and advantages may be negative, so that a product with one of them has no known sign. Logarithms without
    labels, as of a ranking by pairs, are named if the loss trains all weights of the probability: that of a generator,
    which does not train its critic, is added by intention. So is the likelihood by a classifier that the loss does not
    train, as of an adversary.
    """
    yield from itertools.islice(itertools.chain(_minimized_labels(whole), _minimized_probabilities(whole)), 1)


def _minimized_labels(whole: WholeGraph) -> Iterator[Hazard]:
    """Yields the hazard of labels times logarithms of probabilities that are added to a loss."""
    for root, targets in differentiations(whole.graph, whole.reach).items():
        if whole.graph.type(root) not in ("Const", "Fill"):
            continue  # what the derivative is multiplied by is not known
        for target in targets:
            signs = {n: s for n, s in _labelled_logarithms(whole, target) if gradient_flow(whole).passes(n)}
            name = next(iter(signs), None) if set(signs.values()) == {1} else None
            if name is not None and target in minimized_targets(whole) and trains_layer_before(whole, target, name):
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    name,
                    f"{target} contains the sum of labels times {name}, logarithms of probabilities, without the "
                    "minus sign of a cross entropy: it falls where the labels become less likely",
                    "multiply the loss by -1; for parity keep the sign",
                )


def trains_layer_before(whole: WholeGraph, target: str, name: str) -> bool:
    """Tells whether a target trains the layer before a node, such as a logarithm.

    Args:
      whole: the graph.
      target: what is minimized.
      name: the node.

    Returns:
      Whether it trains a weight of the nearest layers; True where there is no layer.
    """
    weights = weights_of_nearest_layers(whole.graph, name)
    return not weights or bool(weights & trained_by(whole).get(target, whole.trainable))


def weights_of_nearest_layers(graph: Graph, name: str) -> set[str]:
    """Returns the variables that the layers nearest before a node multiply by; none where there is no layer."""
    level, seen = [name], {name}
    while level:
        layers = [node for node in level if graph.type(node) in _LAYERS and not is_gradient_op(node)]
        weights = {one for node in layers for one in variables_behind(graph, graph.inputs(node)[1].node)}
        if weights:
            return weights
        level = list({tensor.node for node in level for tensor in graph.inputs(node)} - seen)
        seen.update(level)
    return set()


def _minimized_probabilities(whole: WholeGraph) -> Iterator[Hazard]:
    """Yields the hazard of logarithms of probabilities that are added to a loss as they are."""
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        logarithms = {name: sign for name, sign in signs.items() if _is_of_choice(whole, name)}
        # -softplus(-x) is the logarithm of a sigmoid; one that the loss pulls both ways is something else.
        softplus = [name for name in signs if whole.graph.type(name) == "Softplus"]
        pushes = Pushes(whole, [target]) if softplus else None
        one_way = [name for name in softplus if pushes is not None and _is_pulled_one_way(whole, pushes, name)]
        logarithms.update({name: -signs[name] for name in one_way})
        for name in logarithms if set(logarithms.values()) == {1} else ():
            weights = whole.graph.ancestors([name], controls=False) & whole.trainable
            if weights and weights <= trained_by(whole).get(target, set()) and gradient_flow(whole).passes(name):
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    name,
                    f"{target} contains the sum of {name}, logarithms of probabilities, without the minus sign of a "
                    "likelihood: it is unbounded below",
                    "multiply the term by -1; for parity keep the sign",
                )


def _is_pulled_one_way(whole: WholeGraph, pushes: Pushes, name: str) -> bool:
    """Whether a loss only rises, or only falls, with what an op takes, or with that without its sign."""
    graph, source = whole.graph, whole.graph.inputs(name)[0]
    while graph.type(source.node) in (*COPIES, "Neg"):
        source = graph.inputs(source.node)[0]
    return bool(pushes.sign(source))


def _is_of_choice(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the logarithm of a sigmoid, or of the share that a softmax gives to one class."""
    graph = whole.graph
    if graph.type(name) != "Log":
        return False
    inner = _unbounded(whole, graph.inputs(name)[0].node)
    if graph.type(inner) == "Sigmoid" or _is_density(whole, inner):
        return True
    product = graph.origin(graph.inputs(inner)[0]).node if graph.type(inner) == "Sum" else ""
    factors = graph.inputs(product) if product and graph.type(product) == "Mul" else []
    shares = [other for one, other in zip(factors, reversed(factors)) if _is_labels(whole, one)]
    return any(graph.type(share.node) == "Softmax" for share in shares)


def _is_density(whole: WholeGraph, name: str) -> bool:
    """Whether a node adds up multiples of exp(-(y - x)^2) of results x of weights and data y, as a mixture does."""
    graph, todo, is_sum = whole.graph, [name], False
    while todo:
        node = todo.pop()
        kind, inputs = graph.type(node), [tensor.node for tensor in graph.inputs(node)]
        if kind == "Exp":
            return is_sum and _is_negative_error(whole, inputs[0])
        is_sum |= kind == "Sum"
        if kind in (*COPIES, "Sum", *op_types.QUOTIENTS):
            todo.append(inputs[0])
        elif kind == "Mul":
            todo += inputs
    return False


def _is_negative_error(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a negative multiple of squared differences between results of weights and data."""
    graph = whole.graph
    if ValueSigns(whole).of(name) >= 0:
        return False
    before = [node for node in graph.ancestors([name], controls=False) if not is_gradient_op(node)]
    differences = [node for node in before if graph.type(node) in op_types.DIFFERENCES]
    return any(
        {tensor.node in made_by_weights(whole) for tensor in graph.inputs(node)} == {True, False}
        and all(tensor.node in whole.data for tensor in graph.inputs(node))
        for node in differences
    )


def _unbounded(whole: WholeGraph, name: str) -> str:
    """The node that is bounded, or that a small number is added to."""
    while whole.graph.type(name) in _BOUNDS:
        computed = [tensor.node for tensor in whole.graph.inputs(name) if tensor.node in whole.data]
        if len(computed) != 1:
            return name
        name = computed[0]
    return name


def _labelled_logarithms(whole: WholeGraph, target: str) -> Iterator[tuple[str, int]]:
    """Yields (logarithm of a probability that labels multiply, the sign with which a loss contains it)."""
    todo, seen = [(target, 1, False)], {target}
    while todo:
        name, sign, labelled = todo.pop()
        kind = whole.graph.type(name)
        is_log = kind == "Log" and _is_probability(whole, whole.graph.inputs(name)[0].node)
        if labelled and (is_log or kind == "LogSoftmax"):
            yield name, sign
        for before, factor, by_labels in _signed_inputs(whole, name, labelled):
            if before not in seen:
                seen.add(before)
                todo.append((before, sign * factor, labelled or by_labels))


def _signed_inputs(whole: WholeGraph, name: str, labelled: bool) -> Iterator[tuple[str, int, bool]]:
    """Yields (input, sign of the derivative by it, whether labels multiply it) of a node where the sign is known."""
    kind, inputs = whole.graph.type(name), whole.graph.inputs(name)
    if kind in (*COPIES, "Sum", "Mean") and inputs:
        yield inputs[0].node, 1, False
    elif kind == "Neg":
        yield inputs[0].node, -1, False
    elif kind in SUMS:
        for position, tensor in enumerate(inputs):
            yield tensor.node, -1 if kind == "Sub" and position == 1 else 1, False
    elif kind in op_types.SCALINGS:
        scaled = constant_factor(whole, name)
        if scaled is not None:
            yield scaled[0], 1 if scaled[1] > 0 else -1, False
        elif kind == "Mul" and not labelled:
            for tensor, other in zip(inputs, reversed(inputs)):
                if _is_labels(whole, other):
                    yield tensor.node, 1, True


def _is_labels(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor holds a number for each example and class that data bring, y or 1 - y, or is one-hot."""
    source = source_of_elements(whole.graph, tensor)
    inputs = whole.graph.inputs(source.node)
    if whole.graph.type(source.node) == "Sub" and len(inputs) == 2 and whole.value(inputs[0].node) == 1:
        return _is_labels(whole, inputs[1])
    while whole.graph.type(source.node) in ("Split", "SplitV", "StridedSlice", "Slice", *COPIES):
        position = op_types.divided_input(whole.graph.type(source.node))
        source = whole.graph.inputs(source.node)[position]
    if whole.graph.type(source.node) == "OneHot":
        return not whole.graph.ancestors([source.node], controls=False) & whole.trainable
    if whole.graph.type(source.node) == "Softmax":
        return _is_stopped(whole, tensor)
    return op_types.is_source(whole.graph.type(source.node)) and _classes(whole, source.node) > 1


def _is_stopped(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor is behind `stop_gradient`, as another network's probabilities that are labels."""
    while whole.graph.type(tensor.node) in COPIES and whole.graph.inputs(tensor.node):
        if whole.graph.type(tensor.node) == "StopGradient":
            return True
        tensor = whole.graph.inputs(tensor.node)[0]
    return False


def _classes(whole: WholeGraph, name: str) -> int:
    """The number of columns of a placeholder of rows; 0 of anything else."""
    attributes = whole.graph.nodes[name].attr
    recorded = attributes["_output_shapes"].list.shape
    shape = recorded[0] if recorded else attributes["shape"].shape
    return shape.dim[1].size if len(shape.dim) == 2 else 0


def _is_probability(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a softmax or a sigmoid, one minus it, or one that is bounded."""
    while whole.graph.type(name) in (*_BOUNDS, "Sub") and whole.graph.inputs(name):
        inputs = [tensor.node for tensor in whole.graph.inputs(name)]
        if whole.graph.type(name) == "Sub" and whole.value(inputs[0]) != 1:
            return False
        computed = [before for before in inputs if before in whole.data]
        if len(computed) != 1:
            return False
        name = computed[0]
    return whole.graph.type(name) in op_types.PROBABILITIES
