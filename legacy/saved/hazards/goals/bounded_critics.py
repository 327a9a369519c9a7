"""Hazards of Wasserstein critics: one that ends in a sigmoid, and one whose weights nothing bounds."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS
from legacy.saved.hazards.basics.variable_reads import variable_read, variables_behind
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

_BOUNDED = ("Sigmoid", "Tanh")
#: Ops of which a sum or mean is one of their inputs.
_LINEAR = (*COPIES, *SUMS, "BiasAdd", "Mean", "Neg", "Sum")
_LAYERS = (*op_types.MATRIX_PRODUCTS, *op_types.CONVOLUTIONS)


def bounded_critics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds mean(sigmoid(d(x))) - mean(sigmoid(d(g(z)))) of one critic d and its own loss; one hazard for all.

    A difference of bounded means is a distance, too, that of total variation: a penalty of gradients, or the clipping
    of the critic's weights, tells that a Wasserstein GAN is meant.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = {name: sign for name, sign in linear_signs(whole, target).items() if graph.type(name) in _BOUNDED}
        raised = [name for name, sign in signs.items() if sign < 0 and not is_gradient_op(name)]
        for name in [name for name, sign in signs.items() if sign > 0 and name in made_by_weights(whole)]:
            own = variables_behind(graph, name) & whole.trainable
            for other in raised:
                its = variables_behind(graph, other) & whole.trainable
                critic = own & its
                if its and (its < own or own < its) and _is_wasserstein(whole, target, critic):
                    yield Hazard(
                        "CRITIC_BOUNDED",
                        other,
                        f"a loss is the difference of the means of {name} and {other}, results of one critic between "
                        f"{'0' if graph.type(other) == 'Sigmoid' else '-1'} and 1: the difference cannot "
                        "grow beyond that, and the gradient vanishes once the critic tells all examples apart",
                        "a critic without an activation of its last layer; for parity keep it",
                    )
                    return


def _is_wasserstein(whole: WholeGraph, target: str, critic: set[str]) -> bool:
    """Whether the loss has gradients, as their penalty, or some op clips the critic's weights."""
    graph = whole.graph
    clipped = {graph.origin(graph.inputs(op)[1]).node: op for op in whole.writes if graph.type(op) in op_types.SETS}
    return any(is_gradient_op(name) for name in graph.ancestors([target], controls=False)) or any(
        graph.type(value) in op_types.BOUNDS and variables_behind(graph, value) <= critic and whole.writes[op] in critic
        for value, op in clipped.items()
    )


def critics_without_bound(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds mean(w d(g(z))) - mean(w d(x)) of a critic's last weight w, which is trained freely; one hazard for all.

    The loss is a multiple of w and has no other term, so that a larger w makes it fall for ever, unless a penalty of
    gradients, a decay, or an assignment that clips the weights keeps w small.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        own = trained_by(whole).get(target, set())
        layers = _last_layers(whole, target)
        weights = {variable_read(graph, graph.inputs(name)[1].node) for name in layers}
        others = {name: (variables_behind(graph, name) & whole.trainable) - own for name in layers}
        made = {sign for name, sign in layers.items() if others[name]}
        given = {sign for name, sign in layers.items() if not others[name]}
        is_critic = len(made) == len(given) == 1 and 0 not in made | given and made != given
        weight = weights.pop() if len(weights) == 1 else ""
        if is_critic and weight in own and not _is_set_by_others(whole, own):
            name = next(name for name in layers if others[name])
            yield Hazard(
                "LOSS_WITHOUT_BOUND",
                name,
                f"{target} is the difference of the means of what {weight} makes of generated and of real examples, "
                "without a penalty of gradients or weights, and no op clips the critic's weights: it falls for ever "
                "where they grow",
                "clip the critic's weights after each step, or add a gradient penalty; for parity keep it",
            )
            return


def _last_layers(whole: WholeGraph, target: str) -> dict[str, int]:
    """{product with a weight: its sign} where a loss is a linear function of such products and biases alone; or {}."""
    graph, made, layers = whole.graph, made_by_weights(whole), {}
    signs = {name: sign for name, sign in linear_signs(whole, target).items() if name in made}
    for name, sign in signs.items():
        inputs = [tensor.node for tensor in graph.inputs(name) if tensor.node in made]
        is_linear = graph.type(name) in _LINEAR or (graph.type(name) in op_types.SCALINGS and len(inputs) == 1)
        if graph.type(name) in _LAYERS:
            layers[name] = sign
        elif not variable_read(graph, name) and not (is_linear and any(before in signs for before in inputs)):
            return {}
    return layers


def _is_set_by_others(whole: WholeGraph, variables: set[str]) -> bool:
    """Whether an op that is no update by gradients sets one of some variables by its own value, or by one that is fed.

    A program may clip weights in Python, and feed them.
    """
    graph = whole.graph
    for op, variable in whole.writes.items():
        values = [tensor.node for tensor in graph.inputs(op)[1:]] if op not in whole.applies else []
        before = graph.ancestors(values, controls=False) if variable in variables else set()
        if variable in before or any(graph.type(name) == "Placeholder" for name in before):
            return True
    return False
