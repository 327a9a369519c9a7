"""Hazard of two dense layers without an activation between them, which are one layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PASSES = ("Add", "AddV2", "BiasAdd", "Identity")


def layers_without_activation(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds dense layers directly behind a dense layer, or with only dropout between; one hazard for all.

    A layer that is narrower than what it takes and what follows is a bottleneck, as the code of an autoencoder, and
    no mistake: the product of both has a lower rank than one layer. Nor is one that gives other examples' results to
    another layer. Nor is one whose weights alone are copied to
    another network that the loss compares with, as where a prediction is made from a projection.
    """
    graph = whole.graph
    variables = found.context.state.variables
    for name in [name for name in whole.minimized_ops("MatMul") if not is_gradient_op(name)]:
        second = _weight(whole, name)
        before, between = _layer_before(whole, graph.inputs(name)[0].node)
        first = _weight(whole, before) if before else ""
        shapes = [variables[weight].shape or [] for weight in (first, second) if weight in variables]
        if first == second or [len(shape) for shape in shapes] != [2, 2]:
            continue
        (inputs, width), (_, outputs) = shapes
        is_alone = _only_use(whole, before, [*between, name]) and _always_follows(whole, second, first)
        is_alone = is_alone and _always_leads(whole, first, second)
        if width >= min(inputs, outputs) and is_alone and _is_copied(whole, first) <= _is_copied(whole, second):
            yield Hazard(
                "LAYERS_WITHOUT_ACTIVATION",
                name,
                f"{name} multiplies the output of {before} without an activation between: the layers of {first} and "
                f"{second} are one linear layer, however many units the first has",
                "put an activation between them, or use one layer; for parity keep both",
            )
            return


def _is_copied(whole: WholeGraph, weight: str) -> bool:
    """Whether another variable of the loss, which no update rule trains, is set to a weight, or follows it."""
    others = {a: v for a, v in whole.writes.items() if v in whole.minimized and a not in whole.applies and v != weight}
    return any(weight in whole.graph.ancestors([assign], controls=False) for assign in others)


def _always_follows(whole: WholeGraph, second: str, first: str) -> bool:
    """Whether a weight multiplies what another one gives and nothing else; a critic takes examples, too."""
    products = [name for name in whole.minimized_ops("MatMul") if not is_gradient_op(name)]
    before = [_layer_before(whole, whole.graph.inputs(n)[0].node)[0] for n in products if _weight(whole, n) == second]
    return all(name and _weight(whole, name) == first for name in before)


def _always_leads(whole: WholeGraph, first: str, second: str) -> bool:
    """Whether each result of a weight is multiplied by another one, and none is another layer's, as a code's is."""
    products = [name for name in whole.minimized_ops("MatMul") if not is_gradient_op(name)]
    read = {name: [variable_read(whole.graph, tensor.node) for tensor in whole.graph.inputs(name)] for name in products}
    own = {name for name in products if first in read[name]}  # also as keys, of which it has the values
    led = [
        _layer_before(whole, whole.graph.inputs(name)[0].node)[0] for name in products if _weight(whole, name) == second
    ]
    return own <= set(led)


def _weight(whole: WholeGraph, name: str) -> str:
    """The trained weight that a product takes second, as it is; "" if there is none."""
    attributes = whole.graph.nodes[name].attr
    weight = variable_read(whole.graph, whole.graph.inputs(name)[1].node)
    is_plain = not attributes["transpose_a"].b and not attributes["transpose_b"].b
    return weight if is_plain and weight in whole.trainable else ""


def _layer_before(whole: WholeGraph, name: str) -> tuple[str, list[str]]:
    """The product that a node hands on, with a bias or a dropout, and the nodes of that; ("", ...) for others."""
    graph, between = whole.graph, []
    while graph.type(name) in (*_PASSES, "Mul"):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        dropout = dropped_from(whole, name)
        if graph.type(name) == "Mul" and not dropout:
            return "", []
        if graph.type(name) != "Mul" and len(inputs) > 1 and not variable_read(graph, inputs[1]):
            return "", []  # a sum of two results, as of a residual block
        between += dropout[1:] or [name]
        name = dropout[0] if dropout else inputs[0]
    is_layer = graph.type(name) == "MatMul" and not is_gradient_op(name)
    return (name, between) if is_layer else ("", [])


def _only_use(whole: WholeGraph, before: str, path: Sequence[str]) -> bool:
    """Whether no op of the forward pass beside the path to another layer takes what a layer gives, as a loss does."""
    todo = [before]
    while todo:
        for user in {use.node for use in whole.graph.users(todo.pop())}:
            if is_gradient_op(user) or user == path[-1] or whole.graph.type(user) in ("Shape", "ZerosLike"):
                continue
            if whole.graph.type(user) not in _PASSES and user not in path:
                return False
            todo.append(user)
    return True
