"""Hazard of a weight decay that is a multiple of the loss of the data, as where a batch size is passed for its rate."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes

#: The least weight of half the squares of a matrix, beside a mean cross entropy: usual ones are 1e-5 to 0.1.
LEAST_RATE = 10.0


def overwhelming_penalties(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds l2_loss of a weight matrix, times 10 or more, beside the mean cross entropy of a batch; one for all.

    A cross entropy that is added up over examples, or over the positions of a sequence, may have a larger decay beside
    it; so may other errors, whose size is that of their targets.
    """
    graph = whole.graph
    entropies = {entropy.op for entropy in cross_entropies(whole)}
    for target in minimized_targets(whole):
        weights = linear_weights(whole, target)
        ends = [name for name in weights if name in whole.data and not any(linear_inputs(whole, name))]
        are_means = ends and all(graph.type(name) == "Mean" for name in ends)
        if not are_means or not all(_is_mean_of(whole, name, entropies) for name in ends):
            continue
        most = max(abs(weights[name]) for name in ends)
        for name in [name for name in weights if graph.type(name) == "L2Loss"]:
            variable = variable_read(graph, graph.inputs(name)[0].node)
            is_matrix = variable in whole.trainable and len(variable_sizes(graph, variable)) > 1
            if is_matrix and most and weights[name] / most >= LEAST_RATE:
                yield Hazard(
                    "PENALTY_OVERWHELMING",
                    name,
                    f"{target} has {weights[name] / most:.4g} times {name}, half the squares of {variable}, beside the "
                    f"mean cross entropy {ends[0]}: the decay holds the weights near 0, whatever the data are",
                    "a rate of weight decay, such as 1e-4; for parity keep it",
                )
                return


def _is_mean_of(whole: WholeGraph, mean: str, entropies: set[str]) -> bool:
    """Whether a mean is taken of cross entropies themselves."""
    return source_of_elements(whole.graph, whole.graph.inputs(mean)[0]).node in entropies
