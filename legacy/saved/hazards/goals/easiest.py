"""Hazards of the easiest examples, where the hardest are meant: of pairs in a hinge, and of negatives in a loss."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.lengths.kept_labels import only_users
from workloads.lifted.tensors.gradient_names import is_gradient_op

_HINGES = ("Relu", "Maximum", "Softplus")
#: Ops that a mask of pairs, or of examples, is applied by.
_MASKED = ("Add", "AddV2", "Mul", "Select", "SelectV2", "Sub", "Maximum")


def easiest_pairs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, min(d) - max(d) + margin) of one matrix d of distances; one hazard for all.

    The hardest pairs of a batch are the farthest one of a class, and the nearest one of another.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*_HINGES) if not is_gradient_op(name)]:
        inputs = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        signs = linear_signs(whole, inputs[0]) if len(inputs) == 1 else {}
        nearest = {_unmasked(whole, one): one for one, sign in signs.items() if graph.type(one) == "Min" and sign > 0}
        farthest = {_unmasked(whole, one): one for one, sign in signs.items() if graph.type(one) == "Max" and sign < 0}
        for source in nearest:
            if source and source in farthest:
                yield Hazard(
                    "EASIEST_PAIRS",
                    name,
                    f"{name} is a hinge of {nearest[source]}, the smallest of {source}, less {farthest[source]}, the "
                    "largest: each example is compared by its nearest partner and the farthest other one, which are "
                    "the easiest pairs",
                    "the largest distance within a class less the smallest to another; for parity keep it",
                )
                return


def _unmasked(whole: WholeGraph, extreme: str) -> str:
    """The values that weights make of which masked ones are the extremes."""
    graph, name = whole.graph, source_of_elements(whole.graph, whole.graph.inputs(extreme)[0]).node
    while graph.type(name) in _MASKED:
        made = {source_of_elements(graph, one).node for one in graph.inputs(name) if one.node in made_by_weights(whole)}
        if len(made) != 1:
            return name if made else ""
        name = made.pop()
    return name if name in made_by_weights(whole) else ""


def easiest_negatives(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a loss of the smallest cross entropies of those that a mask of labels leaves; one hazard for all.

    Small losses may be chosen on purpose, as where labels are noisy: those have no mask of labels, or one of the valid
    examples, of which the loss has no others besides.
    """
    graph = whole.graph
    entropies = {entropy.op for entropy in cross_entropies(whole)}
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            if graph.type(name) not in ("TopK", "TopKV2") or sign >= 0:
                continue
            negated = source_of_elements(graph, graph.inputs(name)[0]).node
            masked = source_of_elements(graph, graph.inputs(negated)[0]).node if graph.type(negated) == "Neg" else ""
            source = _without_labels(whole, masked, entropies) if masked else ""
            if source:
                yield Hazard(
                    "EASIEST_NEGATIVES",
                    name,
                    f"{name} takes the largest of {negated}, a negated loss: of the examples that labels leave, those "
                    f"with the smallest cross entropies {source} train, the easiest negatives in place of the hardest",
                    "take the largest of the losses themselves; for parity keep it",
                )
                return


def _without_labels(whole: WholeGraph, masked: str, entropies: set[str]) -> str:
    """The cross entropy that a mask which labels make is applied to; "" of any other node."""
    graph = whole.graph
    if graph.type(masked) not in ("Mul", "Select", "SelectV2"):
        return ""
    inputs = [source_of_elements(graph, tensor).node for tensor in graph.inputs(masked)]
    made = [name for name in inputs if name in made_by_weights(whole)]
    others = [name for name in inputs if name not in made_by_weights(whole)]
    is_given = any(_is_fed(whole, name) for name in others)
    is_found = len(made) == 1 and made[0] in entropies and is_given
    return made[0] if is_found and len(set(only_users(whole, made[0]))) > 1 else ""


def _is_fed(whole: WholeGraph, name: str) -> bool:
    graph = whole.graph
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))
    before = graph.ancestors([name], stop=shapes, controls=False) - shapes
    return any(op_types.is_source(graph.type(one)) for one in before)
