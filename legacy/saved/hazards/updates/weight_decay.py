"""Hazards of weights that decay twice, by a penalty and an assignment, and of normalizations that decay."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.losses.penalties import Penalty, find_penalties
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
_SQUARES = {"L2Loss", "Square"}
_ASSIGNS = ("Assign", "AssignVariableOp", "AssignSub", "AssignSubVariableOp")


def decayed_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights with a squared penalty in a loss that a step multiplies by a number besides; one hazard for all."""
    decays = {whole.writes[name]: name for name in whole.writes if name in whole.members and _decays(whole, name)}
    penalties = [one for one in find_penalties(whole) if one.op in whole.minimized and _SQUARES & set(one.kind)]
    twice = [name for name in decays if any(name in penalty.variables for penalty in penalties)]
    if twice:
        penalty = next(penalty for penalty in penalties if twice[0] in penalty.variables)
        yield Hazard(
            "WEIGHT_DECAYED_TWICE",
            decays[twice[0]],
            f"{counted(len(twice), 'weight')} ({listed(twice, MOST_NAMED)}) decay by a penalty of the loss and by an "
            f"assignment besides, such as {twice[0]} by {penalty.op} and {decays[twice[0]]}",
            "leave one of them out; for parity keep both",
        )


def weight_decays(whole: WholeGraph) -> list[Penalty]:
    """Returns the squared penalties that a loss contains."""
    scaled: set[str] = set()
    for target in whole.targets:
        scaled |= {name for name, weight in linear_weights(whole, target).items() if weight}
    return [one for one in find_penalties(whole) if one.op in scaled and _SQUARES & set(one.kind)]


def decayed_normalizations(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds scales and offsets of normalizations in the squared penalties of a loss; one hazard for all."""
    penalties = weight_decays(whole)
    decayed = {name for penalty in penalties for name in penalty.variables}
    found = [name for name in _of_normalizations(whole) if name in decayed]
    if found:
        penalty = next(penalty for penalty in penalties if found[0] in penalty.variables)
        yield Hazard(
            "NORMALIZATION_DECAYED",
            penalty.op,
            f"the weight decay contains {counted(len(found), 'scale or offset', 'scales and offsets')} of "
            f"normalizations ({listed(found, MOST_NAMED)}), such as {penalty.op}, and draws them to 0",
            "leave scales, offsets and biases out of the penalty; for parity keep it",
        )


def _of_normalizations(whole: WholeGraph) -> list[str]:
    """The trained variables that normalizations scale by or add, in the order of the graph."""
    graph, found = whole.graph, []
    for name in [name for name in graph.nodes if name in whole.minimized and not is_gradient_op(name)]:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        kinds = [graph.type(graph.origin(tensor).node) for tensor in graph.inputs(name)]
        if graph.type(name).startswith("FusedBatchNorm"):
            found += inputs[1:3]
        elif graph.type(name) == "Mul" and "Rsqrt" in kinds:  # tf.nn.batch_normalization
            found += [before for before, kind in zip(inputs, kinds) if kind != "Rsqrt"]
            of_scale = {user for user, _, _ in graph.users(name)}
            products = of_scale | {user for node in of_scale for user, _, _ in graph.users(node)}
            found += [graph.inputs(node)[0].node for node in products if graph.type(node) == "Sub"]
    variables = [variable_read(graph, name) for name in found]
    return [name for name in dict.fromkeys(variables) if name in whole.trainable]


def _decays(whole: WholeGraph, name: str) -> bool:
    """Whether an assignment multiplies a weight by a number, or subtracts such a multiple of it.

    The number depends on no data and no weight, as a learning rate times a constant does.
    """
    graph, variable = whole.graph, whole.writes[name]
    if variable not in whole.trainable or graph.type(name) not in _ASSIGNS or len(graph.inputs(name)) < 2:
        return False
    factors, todo = [], [graph.inputs(name)[1].node]
    while todo:
        factor = todo.pop()
        if graph.type(factor) == "Mul":
            todo += [tensor.node for tensor in graph.inputs(factor)]
        else:
            factors.append(factor)
    own = [factor for factor in factors if variable_read(graph, factor) == variable]
    others = graph.ancestors(set(factors) - set(own), controls=False)
    return len(own) == 1 < len(factors) and not others & (whole.trainable | whole.data)
