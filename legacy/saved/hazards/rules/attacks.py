"""Hazard of adversarial training whose examples are moved down the gradient of their own loss, which helps them."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.elements import key_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import gradient_scope, is_gradient_op


def attacks_that_help(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds x - c * sign(g) of data x and the gradient g of a cross entropy, whose own labels a loss has for it.

    An attack that is aimed at another class goes down the cross entropy with that class, and a loss has the true one.
    """
    graph, entropies = whole.graph, list(cross_entropies(whole))
    for name in [name for name in whole.minimized_ops(*op_types.ADDITIONS, "Sub") if not is_gradient_op(name)]:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        is_of_data = inputs[0] in whole.data and inputs[0] not in made_by_weights(whole)
        if len(inputs) != 2 or not is_of_data:
            continue
        gradient, factor = _direction(whole, inputs[1])
        factor = -factor if graph.type(name) == "Sub" else factor
        attacked = _differentiated(whole, gradient, entropies) if factor < 0 else None
        after = graph.descendants([name], controls=False)
        if attacked is not None and any(_is_equal(whole, attacked, one) for one in entropies if one.op in after):
            yield Hazard(
                "ATTACK_HELPS",
                name,
                f"{name} moves examples by {factor:g} times the direction of {gradient}, the gradient of "
                f"{attacked.op}: their loss falls, so that a loss with the same labels trains on easier examples, and "
                "not on adversarial ones",
                "an attack adds the sign of the gradient; for parity keep it",
            )
            return


def _direction(whole: WholeGraph, name: str) -> tuple[str, float]:
    """(gradient g, c) of a node that is c times sign(g), or c times g over its norm; ("", 0) of any other node."""
    graph, factor, is_direction = whole.graph, 1.0, False
    while not is_gradient_op(name):
        found = constant_factor(whole, name)
        if found is not None:
            name, factor = found[0], factor * found[1]
            continue
        if graph.type(name) == "Neg":
            factor = -factor
        elif graph.type(name) not in (*COPIES, "Sign", "Mul", *op_types.QUOTIENTS) or not graph.inputs(name):
            return "", 0.0
        is_direction |= graph.type(name) in ("Sign", "Mul", *op_types.QUOTIENTS)
        name = graph.inputs(name)[0].node
    return (name, factor) if is_direction else ("", 0.0)


def _differentiated(whole: WholeGraph, gradient: str, entropies: list[CrossEntropy]) -> CrossEntropy | None:
    """The cross entropy of whose mean or sum a node is the gradient; None of several, or of other losses."""
    if not gradient:
        return None
    roots = differentiations(whole.graph, whole.graph.ancestors([gradient], controls=False))
    own = [root for root in roots if gradient.startswith(gradient_scope(root) or root)]
    signs: dict[str, int] = {}
    for target in [target for root in own for target in roots[root]]:
        signs.update(linear_signs(whole, target))
    found = [entropy for entropy in entropies if signs.get(entropy.op, 0) > 0]
    return found[0] if len(found) == 1 else None


def _is_equal(whole: WholeGraph, first: CrossEntropy, second: CrossEntropy) -> bool:
    """Whether cross entropies of different logits have the same labels, and weights make none."""
    keys = {key_of_elements(whole.graph, one.labels) for one in (first, second)}
    return first.op != second.op and len(keys) == 1 and first.labels.node not in made_by_weights(whole)
