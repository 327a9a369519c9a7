"""Hazard of a Q-learning target with the largest value of the whole batch, as of reduce_max without an axis."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.reinforcement.returns import has_variables, terms_of_return
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def maxima_of_batches(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds targets r + c max(Q) with a reward for each example and one maximum for all; one hazard for all.

    A reward that is one number belongs to one state, as where an agent learns from each step that it takes.
    """
    graph, imported = whole.graph, found.context.imported
    known = found.cut.graph.nodes
    for name in [name for name in whole.minimized_ops(*op_types.DIFFERENCES) if not is_gradient_op(name)]:
        for side in graph.inputs(name)[:2]:
            terms = terms_of_return(whole, side.node)
            reward = imported.shape(terms.reward) if terms is not None and terms.reward in known else None
            if terms is None or not reward or reward[0] == 1:
                continue
            for factor in terms.factors:
                values = _maximized(graph, factor)
                if values is None or values.node not in known or imported.shape(factor) != ():
                    continue
                shape = imported.shape(*values)
                is_batch = shape is not None and len(shape) == 2 and shape[0] in (None, reward[0]) and shape[1] != 1
                if is_batch and values.node in whole.data and has_variables(whole, values.node):
                    yield Hazard(
                        "MAXIMUM_OF_BATCH",
                        factor,
                        f"{factor} is the largest of all examples' values {values.node}, one number that each of the "
                        f"rewards {terms.reward} is added to: every example has the target of the best state",
                        "take the maximum over the actions, axis 1; for parity keep it",
                    )
                    return


def _maximized(graph: Graph, name: str) -> TensorId | None:
    """The tensor whose elements a node is the maximum of, also by one axis after the other; None of any other node."""
    source = None
    while graph.type(name) == "Max":
        source = source_of_elements(graph, graph.inputs(name)[0])
        name = source.node
    return source
