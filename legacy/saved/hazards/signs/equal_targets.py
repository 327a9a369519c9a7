"""Hazard of a critic whose loss has the same target for real and for generated examples."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.basics.directions import trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, linear_source
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read

_LAYERS = ("MatMul", "Conv2D")
#: The label that makes neither answer more likely.
_UNDECIDED = 0.5
_SUMS = ("BiasAdd", "Add", "AddV2")


def equal_targets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that have the same target for a layer's output of generated and of real examples; one for all.

    Generated examples depend on weights that another loss trains, those of a generator. A critic that has a second
    target is none: real examples with a caption that does not fit have the target of generated ones.
    """
    trained = trained_by(whole)
    if len({frozenset(names) for names in trained.values()}) < 2:
        return
    entropies = {entropy.op: entropy for entropy in cross_entropies(whole) if entropy.is_sigmoid}
    for target, own in trained.items():
        makers = {name for names in trained.values() if not names & own for name in names}
        scores: dict[tuple[str, float], dict[bool, str]] = {}
        for name in linear_signs(whole, target):
            entropy = entropies.get(name)
            drawn = squared_distance(whole, name)
            if entropy is not None:
                drawn = entropy.logits.node, filled(whole, entropy.labels.node)
            drawn = drawn or _hinge(whole, name)
            weight, product = layer(whole, drawn[0]) if drawn is not None else ("", "")
            if drawn is not None and drawn[1] is not None and weight in own:
                is_made = bool(whole.graph.ancestors([product], controls=False) & makers)
                number = drawn[1] if entropy is None else _side(drawn[1])
                scores.setdefault((weight, number), {})[is_made] = product
        numbers = collections.Counter(weight for weight, _ in scores)
        for (weight, number), products in scores.items():
            if len(products) == 2 and numbers[weight] == 1:
                yield Hazard(
                    "CRITIC_TARGETS_EQUAL",
                    products[True],
                    f"{target} has the target {number:g} for {products[True]}, of generated examples, and for "
                    f"{products[False]}, of real ones: the critic with {weight} does not learn to tell them apart",
                    "give generated examples another target, such as 0; for parity keep it",
                )
                return


def _side(label: float) -> float:
    """The answer, 1 or 0, that a label of a sigmoid makes more likely; a smoothed label is not quite the answer."""
    return 1.0 if label > _UNDECIDED else 0.0 if label < _UNDECIDED else label


def _hinge(whole: WholeGraph, name: str) -> tuple[str, float] | None:
    """(x, the side that is wanted, 1 or -1) of a node that is max(0, 1 - x) or max(0, 1 + x); None of any other."""
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(name)]
    numbers = [whole.value(node) for node in inputs]
    if graph.type(name) not in ("Relu", "Maximum") or (graph.type(name) == "Maximum" and 0 not in numbers):
        return None
    score, factor, margin = linear_source(whole, inputs[0 if graph.type(name) == "Relu" else 1 - numbers.index(0)])
    return (score, -1.0 if factor > 0 else 1.0) if factor and margin > 0 else None


def squared_distance(whole: WholeGraph, name: str) -> tuple[str, float | None] | None:
    """Returns (x, c) of a node that is (x - c)^2, or x^2; None of any other."""
    base = squared(whole, name)
    difference = name if whole.graph.type(name) == "SquaredDifference" else base.node if base is not None else ""
    if not difference:
        return None
    inputs = [tensor.node for tensor in whole.graph.inputs(difference)]
    if whole.graph.type(difference) in _SUMS and filled(whole, inputs[1]) is not None:
        return inputs[0], -(filled(whole, inputs[1]) or 0.0)
    if whole.graph.type(difference) not in op_types.DIFFERENCES:
        return difference, 0.0
    return inputs[0], filled(whole, inputs[1])


def layer(whole: WholeGraph, name: str) -> tuple[str, str]:
    """Returns (weight, product) of the layer without an activation whose results a node is; ("", "") of any other."""
    graph = whole.graph
    while graph.type(name) in (*COPIES, *_SUMS):
        name = graph.inputs(name)[0].node
    return (_weight(whole, graph.inputs(name)[1].node), name) if graph.type(name) in _LAYERS else ("", "")


def _weight(whole: WholeGraph, name: str) -> str:
    """The variable that a layer multiplies by, perhaps divided by its norm; "" where it is none."""
    graph = whole.graph
    while graph.type(name) in (*op_types.QUOTIENTS, "Reshape") and not variable_read(graph, name):
        name = graph.inputs(name)[0].node
    return variable_read(graph, name)
