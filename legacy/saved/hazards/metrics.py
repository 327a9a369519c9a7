"""Hazards of what a program reports: classes taken over the examples, sums of losses divided by another number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights

#: Ops on the way from a product of rows and weights to its elements.
_ROW_PASSES = ("Identity", "BiasAdd", "Add", "AddV2", "Cast", "Softmax", "LogSoftmax", "Sigmoid")
#: Relative difference within which a weight is one, or one over the number of towers.
TOLERANCE = 1e-5


def classes_over_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds an ArgMax along the first axis of a layer's output, which is that of the examples; one hazard for all."""
    graph = whole.graph
    for name in graph.nodes:
        if graph.type(name) == "ArgMax" and whole.value(graph.inputs(name)[1].node) == 0:
            layer = _layer(whole, graph.inputs(name)[0].node)
            if layer:
                yield Hazard(
                    "CLASS_OVER_EXAMPLES",
                    name,
                    f"{name} is an argmax along axis 0 of {layer}, whose rows are examples: it finds an example for "
                    "each class, and not a class for each example",
                    "use tf.argmax(logits, 1): in 1.x the default axis is 0",
                )
                return


def _layer(whole: WholeGraph, name: str) -> str:
    """The product of rows and a variable that a node's rows come from; "" for any other node."""
    while whole.graph.type(name) in _ROW_PASSES and whole.graph.inputs(name):
        before = [tensor.node for tensor in whole.graph.inputs(name)]
        name = next((node for node in before if node in whole.data), before[0])
    if whole.graph.type(name) != "MatMul" or name not in whole.data or whole.graph.nodes[name].attr["transpose_a"].b:
        return ""
    weights = whole.graph.inputs(name)[1].node
    while whole.graph.type(weights) in ("Identity", "ReadVariableOp", "Cast") and whole.graph.inputs(weights):
        weights = whole.graph.inputs(weights)[0].node
    return name if whole.graph.type(weights) in op_types.VARIABLES else ""


def reported_losses(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of all towers' losses whose weight, but for a sign, is neither 1 nor one over the towers."""
    if whole.count < 2:
        return
    losses = {name: whole.labels.get(name) for name in whole.targets}
    if {tower for tower in losses.values() if tower is not None} != set(whole.towers()):
        return
    for name in whole.graph.of_types(*op_types.SCALAR_SUMMARIES):
        weights = linear_weights(whole, whole.graph.inputs(name)[1].node)
        found = {losses[node]: weight for node, weight in weights.items() if node in losses}
        shares = list(found.values())
        if len(found) != whole.count or max(shares) - min(shares) > TOLERANCE * abs(max(shares)):
            continue
        times = shares[0] * whole.count
        if any(abs(abs(times) - right) <= TOLERANCE for right in (1, whole.count)):  # a log-likelihood is minus a loss
            continue
        yield _scaled(
            name, times, whole.count, _counts_of_terms(whole, weights, [node for node in weights if node in losses])
        )
        return


def _counts_of_terms(whole: WholeGraph, weights: dict[str, float], losses: Iterable[str]) -> dict[str, float]:
    """Returns {term of the towers' losses: how often a summary counts it, beside the mean of these losses}.

    A summary may add terms of the losses to the losses themselves, such as each tower's cross entropy and its total.

    Args:
      whole: the graph.
      weights: {node: weight} in the summary; see `linear_weights`.
      losses: of all towers, which the summary adds.
    """
    in_mean: dict[str, float] = {}
    for loss in losses:
        for name, weight in linear_weights(whole, loss).items():
            in_mean[name] = in_mean.get(name, 0.0) + weight / whole.count
    ends = [name for name in in_mean if not list(linear_inputs(whole, name))]
    return {name: weights.get(name, 0.0) / in_mean[name] for name in ends if in_mean[name]}


def _scaled(name: str, times: float, count: int, terms: dict[str, float]) -> Hazard:
    """Returns the hazard of a summary that shows the losses with a factor, or their terms with several.

    Args:
      name: of the summary.
      times: how often it counts the mean of the losses.
      count: of the towers.
      terms: see `_counts_of_terms`.
    """
    least, most = (min(terms, key=terms.__getitem__), max(terms, key=terms.__getitem__)) if terms else (name, name)
    if not terms or max(abs(terms[end] - times) for end in (least, most)) <= TOLERANCE * abs(times):
        return Hazard(
            "REPORTED_LOSS_SCALED",
            name,
            f"{name} shows the sum of {count} towers' losses times {times / count:g}: {times:g} times their mean",
            "strategy.reduce(MEAN) gives the mean; curves of old and new runs differ by this factor",
        )
    return Hazard(
        "REPORTED_LOSS_SCALED",
        name,
        f"{name} adds terms of {count} towers' losses to these losses: of the terms of their mean it counts {most} "
        f"{terms[most]:g} times, and {least} {terms[least]:g} times",
        "report the loss that is minimized; curves of old and new runs differ by these factors",
    )
