"""Hazard of dropout between layers that nothing trains, such as those of a teacher."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.dropout import kept_share
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

_LAYERS = ("MatMul", "Conv2D", "Conv3D")
_PASSES = ("Mul", "SelectV2", "Cast", "RealDiv", "Div", "Identity", "Reshape")


def dropout_of_frozen_layers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds dropout behind layers whose weights nothing changes, and before one of them; one hazard for all.

    A weight whose gradient the step computes is meant to be trained, as a copy of a tower that nothing changes.
    """
    graph, changed = whole.graph, set(whole.writes.values())
    for name in [name for name in graph.nodes if name in whole.reach and "drop" in name.lower()]:
        share = kept_share(whole, name)
        if share is None or whole.value(share[0].node) in (None, 0.0, 1.0):
            continue  # a switch or a placeholder may turn it off
        for layer in _layers_behind(whole, name):
            weight = variable_read(graph, graph.inputs(layer)[1].node)
            before = {variable_read(graph, node) for node in graph.ancestors([layer], controls=False)} - {"", weight}
            is_fixed = weight and weight not in changed and before and not before & changed
            if is_fixed and not _is_differentiated(whole, layer):
                yield Hazard(
                    "DROPOUT_OF_FROZEN",
                    name,
                    f"{name} applies dropout before {layer}, whose weight, {weight}, and all weights before it are "
                    "not trained: a fixed network, such as a teacher, gives noisy outputs",
                    "leave dropout out of it; for parity keep it",
                )
                return


def _is_differentiated(whole: WholeGraph, layer: str) -> bool:
    """Returns whether a gradient op of a layer takes what the layer takes, as that of its weight does."""
    activations = whole.graph.inputs(layer)[0]
    users = {use.node for use in whole.graph.users(activations.node)} & whole.reach
    return any(is_gradient_op(user) and forward_name(user, whole.graph.nodes) == layer for user in users)


def _layers_behind(whole: WholeGraph, name: str) -> list[str]:
    """The next layers that take what a dropout's decision multiplies."""
    graph, todo, seen, found = whole.graph, [name], {name}, []
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.reach]:
            if graph.type(user) in _LAYERS and user not in found:
                found.append(user)
            elif graph.type(user) in _PASSES and user not in seen:
                seen.add(user)
                todo.append(user)
    return found
