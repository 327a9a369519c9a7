"""Hazard of LSTM cells whose gradient takes the peepholes of two gates for each other."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.peepholes import exchanges_peepholes
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import forward_name
from workloads.support.wording import counted


def exchanged_peepholes(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cells of which the gradient has the peepholes of the forget and the output gate exchanged; one for all."""
    graph = whole.graph
    derivatives = [name for name in graph.nodes if graph.type(name) == "LSTMBlockCellGrad" and name in whole.members]
    cells = {name: forward_name(name, graph.nodes) or "" for name in derivatives}
    found = [name for name, cell in cells.items() if cell and exchanges_peepholes(graph, cell, name)]
    if found:
        yield Hazard(
            "PEEPHOLES_EXCHANGED",
            found[0],
            f"the gradient of {counted(len(found), 'LSTM cell')} takes the peepholes of the forget gate and of the "
            "output gate for each other, a fault of LSTMBlockCell in TensorFlow 1.4, and is not the loss's derivative",
            "the derivative; for parity keep the old gradient, as lift and source do",
        )
