"""Hazards of gradients that old TensorFlow computes wrongly: of LSTM cells with peepholes, and second derivatives."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.derivatives.wrong_derivatives import (
    exchanges_peepholes,
    is_wrong_derivative_of_elu,
    normalizations_derived_wrongly,
)
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import forward_name
from workloads.support.wording import counted, plural


def exchanged_peepholes(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cells of which the gradient has the peepholes of the forget and the output gate exchanged; one for all."""
    graph = whole.graph
    derivatives = [name for name in graph.of_types("LSTMBlockCellGrad") if name in whole.members]
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


def second_derivatives_of_elu(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds second derivatives of `tf.nn.elu` that are taken at the first derivative; one hazard for all."""
    graph = whole.graph
    found = [name for name in graph.nodes if name in whole.reach and is_wrong_derivative_of_elu(graph, name)]
    if found:
        yield Hazard(
            "ELU_DERIVED_WRONGLY",
            found[0],
            f"{counted(len(found), 'second derivative')} of tf.nn.elu, as of a gradient penalty, "
            f"{plural(len(found), 'is', 'are')} taken at the first derivative, such as {found[0]}, a fault of "
            "TensorFlow up to 1.4, and not at what elu gives: this is not the loss's derivative",
            "the derivative; for parity keep the old gradient, as a lift does",
        )


def second_derivatives_of_normalization(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds second derivatives of batch normalization that count a path twice; one hazard for all."""
    found = [name for name in normalizations_derived_wrongly(whole.graph) if name in whole.reach]
    if found:
        yield Hazard(
            "NORMALIZATION_DERIVED_WRONGLY",
            found[0],
            f"the derivative of {counted(len(found), 'derivative')} of batch normalization, as of a gradient penalty, "
            f"counts the path through the incoming gradient twice, such as that of {found[0]}, a fault of "
            "tf.nn.fused_batch_norm in old TensorFlow, as 1.4: this is not the loss's derivative",
            "the derivative, or no batch normalization there; for parity keep the old gradient, as a lift does",
        )
