"""Hazard of an attention mask that adds one number to all scores of a query, which the softmax takes away again."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op


def masks_without_effect(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds softmax(scores + mask) of a mask of data with one column, for scores with several; one hazard for all."""
    graph, imported = found.context.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Softmax") if name in graph.nodes and not is_gradient_op(name)]:
        scores = graph.origin(graph.inputs(name)[0])
        if graph.type(scores.node) not in op_types.ADDITIONS:
            continue
        shape = imported.shape(*scores)
        for term in graph.inputs(scores.node):
            own = imported.shape(*term)
            is_given = term.node in whole.data and term.node not in made_by_weights(whole)
            if shape and own and is_given and len(own) == len(shape) and own[-1] == 1 and shape[-1] != 1:
                yield Hazard(
                    "MASK_WITHOUT_EFFECT",
                    name,
                    f"{term.node} adds the same number to all scores of a row of the softmax {name}, which does not "
                    "change the attention weights: nothing is masked",
                    "a mask of the keys has its numbers along the last axis; for parity leave it out",
                )
                return
