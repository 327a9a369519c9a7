"""Hazard of two dense layers without an activation between them, which are one layer."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PASSES = ("Add", "AddV2", "BiasAdd", "Identity")


def layers_without_activation(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds dense layers whose input is a dense layer's result as it is; one hazard for all.

    A layer that is narrower than what it takes and what follows is a bottleneck, as the code of an autoencoder, and
    no mistake: the product of both has a lower rank than one layer.
    """
    graph = whole.graph
    variables = found.context.state.variables
    for name in [name for name in whole.minimized_ops("MatMul") if not is_gradient_op(name)]:
        second = _weight(whole, name)
        before = _layer_before(whole, graph.inputs(name)[0].node)
        first = _weight(whole, before) if before else ""
        shapes = [variables[weight].shape or [] for weight in (first, second) if weight in variables]
        if first == second or [len(shape) for shape in shapes] != [2, 2]:
            continue
        (inputs, width), (_, outputs) = shapes
        if width >= min(inputs, outputs) and _only_use(whole, before, name) and _always_follows(whole, second, first):
            yield Hazard(
                "LAYERS_WITHOUT_ACTIVATION",
                name,
                f"{name} multiplies what {before} gives, without an activation between: the layers of {first} and "
                f"{second} are together one linear layer, however many units the first has",
                "an activation behind the first, or one layer; for parity keep both",
            )
            return


def _always_follows(whole: WholeGraph, second: str, first: str) -> bool:
    """Whether a weight multiplies what another one gives and nothing else; a critic takes examples, too."""
    products = [name for name in whole.minimized_ops("MatMul") if not is_gradient_op(name)]
    before = [_layer_before(whole, whole.graph.inputs(n)[0].node) for n in products if _weight(whole, n) == second]
    return all(name and _weight(whole, name) == first for name in before)


def _weight(whole: WholeGraph, name: str) -> str:
    """The trained weight that a product takes second, as it is; "" if there is none."""
    attributes = whole.graph.nodes[name].attr
    weight = variable_read(whole.graph, whole.graph.inputs(name)[1].node)
    is_plain = not attributes["transpose_a"].b and not attributes["transpose_b"].b
    return weight if is_plain and weight in whole.trainable else ""


def _layer_before(whole: WholeGraph, name: str) -> str:
    """The product that a node hands on, with a bias; "" for any other node."""
    graph = whole.graph
    while graph.type(name) in _PASSES:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if len(inputs) > 1 and not variable_read(graph, inputs[1]):
            return ""  # a sum of two results, as of a residual block
        name = inputs[0]
    return name if graph.type(name) == "MatMul" and not is_gradient_op(name) else ""


def _only_use(whole: WholeGraph, before: str, name: str) -> bool:
    """Whether no other op of the forward pass takes what a layer gives, such as a loss of its own."""
    todo = [before]
    while todo:
        for user in {use.node for use in whole.graph.users(todo.pop())}:
            if is_gradient_op(user) or user == name or whole.graph.type(user) in ("Shape", "ZerosLike"):
                continue
            if whole.graph.type(user) not in _PASSES:
                return False
            todo.append(user)
    return True
