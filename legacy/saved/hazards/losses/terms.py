"""Hazards of the terms of a loss: those that it contains more than once, and logarithms of what may underflow."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId
from workloads.support.wording import counted, listed

#: Ops that hand a scalar on.
COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims")
_GATHERS = ("Gather", "GatherNd", "GatherV2")
#: Terms that a hazard names.
MOST_NAMED = 3


def repeated_terms(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms that a sum which is minimized contains several times; of towers, those of the first such loss."""
    for target in whole.targets:
        times = {term: count for term, count in _times_added(whole.graph, target).items() if count > 1}
        if times:
            names = listed(list(times), MOST_NAMED)
            most = max(times.values())
            yield Hazard(
                "TERM_REPEATED",
                target,
                f"{target} adds {counted(len(times), 'term')} {most} times: {names}",
                "a loss may be in two collections, or be added by a helper and its caller: add each once; for parity, "
                "as often as the old program did",
            )
            return


def logarithms_of_probabilities(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a loss with the logarithm of a softmax or a sigmoid, to which nothing is added; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Log"):
        probability = _probability(graph, graph.inputs(name)[0].node)
        if probability:
            yield Hazard(
                "LOG_OF_PROBABILITY",
                name,
                f"{name} is the logarithm of {probability}: where a probability underflows to 0, the loss is infinite "
                "and its gradient NaN",
                "cross entropy of the logits, such as tf.nn.softmax_cross_entropy_with_logits, has no such numbers; "
                "for parity, leave it as it is",
            )
            return


def _probability(graph: Graph, name: str) -> str:
    """The softmax or sigmoid that a node hands on, takes from 1, or chooses one number of; "" for any other node."""
    while graph.type(name) in (*COPIES, *_GATHERS) and graph.inputs(name):
        name = graph.inputs(name)[0].node
    if graph.type(name) == "Sum" and graph.type(graph.inputs(name)[0].node) == "Mul":  # by a one-hot code
        factors = graph.inputs(graph.inputs(name)[0].node)
        chosen = [one for one, other in (factors, factors[::-1]) if graph.type(graph.origin(other).node) == "OneHot"]
        name = chosen[0].node if len(chosen) == 1 else name
        name = graph.origin(TensorId(name, 0)).node
    if graph.type(name) == "Sub" and graph.type(graph.inputs(name)[0].node) == "Const":
        name = graph.inputs(name)[1].node
    return name if graph.type(name) in ("Softmax", "Sigmoid") else ""


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
        elif graph.type(name) in COPIES:
            added = inputs[:1]
        else:
            added = []
            terms[name] = times[name]
        for before in added:
            times[before] += times[name]
    return {name: count for name, count in terms.items() if graph.type(name) != "Const"}
