"""Hazard of an accuracy that takes the largest hidden unit for the class, in place of the largest logit."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId

#: Activations behind which a layer's output is hidden, if another layer takes it.
_HIDDEN = ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Tanh", "Sigmoid", "Softplus")
_TOP = ("InTopK", "InTopKV2")


def classes_of_hidden_units(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds an argmax of what a trained layer makes logits of, compared with the labels of these; one hazard for all.

    The layer may not be behind a softmax: one of noisy labels takes the probabilities of true classes.
    """
    graph = whole.graph
    for op, values, label in _comparisons(whole):
        hidden = graph.origin(values).node
        if graph.type(hidden) not in _HIDDEN or hidden not in made_by_weights(whole):
            continue
        entropies = [one for one in cross_entropies(whole) if not one.is_sigmoid]
        layers = [_layer_behind(whole, hidden, one) for one in entropies if label in _names_of_labels(whole, one)]
        if layers and all(layers) and not any(_are_logits(whole, hidden, one) for one in entropies):
            yield Hazard(
                "CLASS_OF_HIDDEN_UNITS",
                op,
                f"{op} counts where the largest of the hidden units {hidden} is the class {label}; the cross entropy "
                f"takes logits that {layers[0]} makes of these units",
                "report the accuracy of the logits; the training is not affected",
            )
            return


def _comparisons(whole: WholeGraph) -> Iterator[tuple[str, TensorId, str]]:
    """(op, values, label's source) of comparisons of the largest of some values with a label, outside of the loss."""
    graph = whole.graph
    compared = graph.of_types(*_TOP, "Equal")
    for name in [name for name in compared if name in whole.data and name not in whole.minimized]:
        if graph.type(name) in _TOP:
            values, label = graph.inputs(name)[:2]
            yield name, values, source_of_elements(graph, label).node
        else:
            sides = [source_of_elements(graph, side) for side in graph.inputs(name)[:2]]
            for one, other in zip(sides, reversed(sides)):
                if graph.type(one.node) == "ArgMax" and one.node in made_by_weights(whole):
                    yield name, graph.inputs(one.node)[0], _label(whole, other)


def _label(whole: WholeGraph, tensor: TensorId) -> str:
    """The source of labels, which may be the argmax of their codes, or the codes of their numbers."""
    name = source_of_elements(whole.graph, tensor).node
    while whole.graph.type(name) in ("ArgMax", "OneHot"):
        name = source_of_elements(whole.graph, whole.graph.inputs(name)[0]).node
    return name


def _names_of_labels(whole: WholeGraph, entropy: CrossEntropy) -> set[str]:
    return {_label(whole, entropy.labels)} - made_by_weights(whole)


def _are_logits(whole: WholeGraph, hidden: str, entropy: CrossEntropy) -> bool:
    """Whether a cross entropy, as of a head halfway, takes hidden units for logits."""
    units = {hidden, whole.graph.origin(whole.graph.inputs(hidden)[0]).node}
    return source_of_elements(whole.graph, entropy.logits).node in units


def _layer_behind(whole: WholeGraph, hidden: str, entropy: CrossEntropy) -> str:
    """The first trained layer between hidden units and logits, where no softmax is between them; else ""."""
    graph = whole.graph
    between = graph.ancestors([entropy.logits.node], controls=False) & graph.descendants([hidden], controls=False)
    if any(graph.type(name) == "Softmax" for name in between):
        return ""
    for name in [name for name in graph.of_types(*op_types.LAYERS) if name in between]:
        if variable_read(graph, graph.inputs(name)[1].node) in whole.trainable:
            return name
    return ""
