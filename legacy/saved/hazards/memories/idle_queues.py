"""Hazard of a memory of negative examples that nothing fills, so that a contrastive loss compares with noise."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.variable_reads import variable_read

_PASSES = ("Identity", "Transpose", "Reshape", "StopGradient", "Cast")


def queues_that_are_never_filled(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds variables without updates among the classes of a cross entropy whose label is always 0; one for all.

    Class 0 is a similarity of two results, and the others are products of a result and rows of the variable: negatives
    that earlier batches should have left there.
    """
    graph = whole.graph
    for entropy in cross_entropies(whole):
        if entropy.is_sigmoid or filled(whole, entropy.labels.node) != 0:
            continue
        name = linear_source(whole, entropy.logits.node)[0]
        while graph.type(name) in _PASSES:
            name = linear_source(whole, graph.inputs(name)[0].node)[0]
        for part in [linear_source(whole, tensor.node)[0] for tensor in joined_parts(graph, name)[1:]]:
            variable = _other_factor(whole, part)
            if variable and variable not in whole.trainable and variable not in whole.writes.values():
                yield Hazard(
                    "QUEUE_NEVER_FILLED",
                    part,
                    f"{part} compares with {variable}, as the negatives of {entropy.op}, and no op changes it: they "
                    "stay the random numbers that it begins with",
                    "write each step's keys into it; for parity leave it",
                )
                return


def _other_factor(whole: WholeGraph, product: str) -> str:
    """The variable that a product multiplies with data; "" if there is none."""
    graph, found = whole.graph, []
    if graph.type(product) not in (*op_types.MATRIX_PRODUCTS, "Einsum"):
        return ""
    for tensor in graph.inputs(product):
        name = tensor.node
        while graph.type(name) in _PASSES and not variable_read(graph, name):
            name = graph.inputs(name)[0].node
        found.append(variable_read(graph, name))
    return found[0] or found[1] if len(found) == 2 and found.count("") == 1 else ""
