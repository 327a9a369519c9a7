"""Hazard of a distillation in which one side's logits are divided by the temperature, and the other's are not."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.variable_reads import variables_behind
from workloads.lifted.graph import TensorId

_COPIES = ("Identity", "Reshape", "Squeeze", "Cast", "StopGradient")


def temperatures_of_one_side(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies of a softmax of another network, of which one side alone has a temperature; one for all.

    Labels that are sharpened, by a factor above 1, beside logits as they are, are meant so.
    """
    graph = whole.graph
    for entropy in cross_entropies(whole):
        labels = source_of_elements(graph, entropy.labels).node
        if entropy.is_sigmoid or graph.type(labels) != "Softmax":
            continue
        (teacher, above), (student, below) = (
            _scaled(whole, tensor) for tensor in (graph.inputs(labels)[0], entropy.logits)
        )
        if whole.graph.type(student) in ("Softmax", "Sigmoid", "LogSoftmax"):
            continue  # another fault, and its logits may have the temperature
        is_other = variables_behind(graph, teacher) - variables_behind(graph, student)
        if is_other and ((below < 1 and above == 1) or (above < 1 and below == 1)):
            scaled, plain = (entropy.logits.node, labels) if below < 1 else (labels, entropy.logits.node)
            yield Hazard(
                "TEMPERATURE_OF_ONE_SIDE",
                entropy.op,
                f"{entropy.op} compares the softmax of two networks: the logits of {scaled} are multiplied by "
                f"{min(above, below):.4g}, as by a temperature, and those of {plain} are not",
                "divide both by the temperature; for parity keep them",
            )
            return


def _scaled(whole: WholeGraph, tensor: TensorId) -> tuple[str, float]:
    """The node that a tensor is a multiple of, and its factor."""
    name, factor = tensor.node, 1.0
    while True:
        found = constant_factor(whole, name)
        if found is not None:
            name, factor = found[0], factor * found[1]
        elif whole.graph.type(name) in _COPIES:
            name = whole.graph.inputs(name)[0].node
        else:
            return name, factor
