"""Hazard of the logarithm of a mean probability, in place of the mean of the logarithms."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import choice_by_code, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that keep a probability away from 0, or that average.
_GUARDS = ("Add", "AddV2", "ClipByValue", "Identity", "Maximum")


def logs_of_mean_probabilities(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds -log(mean(p)) of the probabilities p of the examples' labels, as a term of a loss; one hazard for all.

    A mean over the members of an ensemble leaves a number for each example, whose logarithms are averaged then.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        for name, weight in linear_weights(whole, target).items():
            if graph.type(name) != "Log" or weight >= 0 or is_gradient_op(name):
                continue
            mean = graph.inputs(name)[0].node
            while graph.type(mean) in _GUARDS:
                mean = graph.inputs(mean)[0].node
            probabilities = graph.inputs(mean)[0] if graph.type(mean) == "Mean" else None
            if probabilities is not None and _is_of_labels(whole, probabilities):
                yield Hazard(
                    "LOG_OF_A_MEAN",
                    name,
                    f"{name} is the logarithm of {mean}, the mean over the examples of the probabilities of their "
                    "labels: an example with a probability near 0 has nearly no gradient, where a cross entropy gives "
                    "it the largest",
                    "the mean of the logarithms; for parity keep it",
                )
                return


def _is_of_labels(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor has the probability of each example's label, of a softmax or a sigmoid."""
    graph, name = whole.graph, source_of_elements(whole.graph, tensor).node
    if name not in made_by_weights(whole):
        return False
    choice = choice_by_code(graph, name)
    if choice is not None:
        of_each = not _is_one(whole, source_of_elements(graph, graph.inputs(choice.code)[0]).node)
        return of_each and graph.type(source_of_elements(graph, choice.values).node) == "Softmax"
    product = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    if product and graph.type(product) == "Mul":
        kinds = [graph.type(source_of_elements(graph, factor).node) for factor in graph.inputs(product)]
        sources = [source_of_elements(graph, factor).node for factor in graph.inputs(product)]
        given = [source for source in sources if source in whole.data and source not in made_by_weights(whole)]
        is_fed = bool(given) and any(op_types.is_source(graph.type(one)) for one in graph.ancestors(given))
        return kinds.count("Softmax") == 1 and is_fed and not _is_one(whole, given[0])
    return (
        graph.type(name) in op_types.PICKS
        and graph.type(source_of_elements(graph, graph.inputs(name)[0]).node) == "Softmax"
    )


def _is_one(whole: WholeGraph, labels: str) -> bool:
    """Whether fed labels are one for all, as of a bag whose instances' probabilities are averaged."""
    node = whole.graph.nodes[labels]
    sizes = [size.size for size in node.attr["shape"].shape.dim]
    return node.op.startswith("Placeholder") and sizes[:1] in ([], [1]) and not node.attr["shape"].shape.unknown_rank
