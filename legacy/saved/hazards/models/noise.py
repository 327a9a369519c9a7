"""Hazard of Gumbel noise whose sign is missing."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op


def gumbel_noise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds log(-log(u)) of uniform random numbers that is added as it is, -log(-log(u)) being meant; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Log"):
        negative = _past_constants(whole, graph.inputs(name)[0].node)
        inner = _past_constants(whole, graph.inputs(negative)[0].node) if graph.type(negative) == "Neg" else ""
        if not inner or graph.type(inner) != "Log":
            continue
        drawn = _past_constants(whole, graph.inputs(inner)[0].node)
        while graph.type(drawn) in ("Mul", "Add", "AddV2") and graph.inputs(drawn):  # as tf.random_uniform scales it
            drawn = graph.inputs(drawn)[0].node
        if graph.type(drawn) == "RandomUniform" and _is_added(whole, name):
            yield Hazard(
                "GUMBEL_SIGN",
                name,
                f"{name} is log(-log(u)) of uniform random numbers, and is added without a minus sign: that is no "
                "Gumbel noise, so that samples do not follow the probabilities",
                "-log(-log(u)); for parity keep it",
            )
            return


def _past_constants(whole: WholeGraph, name: str) -> str:
    """The node before small numbers that are added to it."""
    graph = whole.graph
    while graph.type(name) in ("Identity", *op_types.ADDITIONS):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        others = [before for before in inputs if whole.value(before) is None]
        if len(others) != 1:
            return name
        name = others[0]
    return name


def _is_added(whole: WholeGraph, name: str) -> bool:
    """Whether all forward ops that use a node, past added numbers, add it to something else."""
    graph, todo, kinds = whole.graph, [name], set()
    while todo:
        node = todo.pop()
        for user in [use.node for use in graph.users(node)]:
            if is_gradient_op(user) or user not in whole.minimized:
                continue
            inputs = [tensor.node for tensor in graph.inputs(user)]
            is_copy = graph.type(user) in ("Identity", *op_types.ADDITIONS)
            if is_copy and sum(whole.value(before) is None for before in inputs) == 1:
                todo.append(user)
            else:
                kinds.add(graph.type(user) in op_types.ADDITIONS)
    return kinds == {True}
