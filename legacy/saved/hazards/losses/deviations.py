"""Hazard of a variational code: exp(h) is a deviation where it is drawn, and a variance in the divergence."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from workloads.lifted.tensors.gradient_names import is_gradient_op


def deviations_for_variances(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds codes mu + exp(h) * noise beside a divergence exp(h) - h, in which exp(h) is the variance; one for all.

    A divergence with the wrong sign, which is another hazard, says what h is, too.
    """
    graph = whole.graph
    for target in whole.targets:
        signs = _signs(whole, target)
        for name, sign in signs.items():
            if graph.type(name) != "Exp":
                continue
            logarithm = graph.origin(graph.inputs(name)[0]).node
            if sign * signs.get(logarithm, 0) >= 0:
                continue
            scaled, of_logarithm = scaled_noise(whole, logarithm), _product_with_noise(whole, logarithm)
            if scaled or of_logarithm:
                factor = f"exp({logarithm})" if scaled else logarithm
                terms = (f"exp({logarithm})", logarithm)
                contained = " - ".join(terms if sign > 0 else reversed(terms))
                its = "it is a variance" if scaled else f"{logarithm} is the logarithm of a variance"
                yield Hazard(
                    "VARIANCE_FOR_DEVIATION",
                    scaled or of_logarithm,
                    f"{scaled or of_logarithm} multiplies noise by {factor}, as a standard deviation, and {target} "
                    f"contains {contained}, where {its}: one of them is wrong",
                    "multiply the noise by exp(h / 2); for parity keep both",
                )
                return


def _signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """Signs of the terms of a loss, also of those that it adds where they are larger than a constant: free bits."""
    found = dict(linear_signs(whole, target))
    todo = list(found)
    while todo:
        name = todo.pop()
        inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Maximum" else []
        others = [before for before in inputs if whole.value(before) is None]
        for node, sign in linear_signs(whole, others[0]).items() if len(others) == 1 and found[name] > 0 else ():
            if node not in found:
                found[node] = sign
                todo.append(node)
    return found


def scaled_noise(whole: WholeGraph, logarithm: str) -> str:
    """Returns a product of normal random numbers and the exponential of a node; "" if there is none."""
    graph, todo = whole.graph, [logarithm]
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            if graph.type(user) == "Identity":
                todo.append(user)
            elif graph.type(user) == "Exp":
                product = _product_with_noise(whole, user)
                if product:
                    return product
    return ""


def _product_with_noise(whole: WholeGraph, name: str) -> str:
    """A product of a node as it is and of normal random numbers; "" if there is none."""
    graph, todo = whole.graph, [name]
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            if graph.type(user) == "Identity":
                todo.append(user)
                continue
            is_product = graph.type(user) == "Mul" and not is_gradient_op(user)
            if is_product and any(_is_noise(whole, tensor.node) for tensor in graph.inputs(user)):
                return user
    return ""


def _is_noise(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds normal random numbers of mean 0 and deviation 1, as `tf.random_normal` gives them."""
    graph = whole.graph
    while True:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        numbers = [whole.value(before) for before in inputs]
        neutral = 1.0 if graph.type(name) == "Mul" else 0.0
        if graph.type(name) in ("Mul", *op_types.ADDITIONS) and neutral in numbers:
            name = inputs[1 - numbers.index(neutral)]
        else:
            return graph.type(name) in ("RandomStandardNormal", "StatelessRandomNormal")
