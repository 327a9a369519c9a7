"""Hazards of a normalization by its variance, by the root of its deviation, or times the deviation."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.asymmetries.variances_by_hand import averaged, joined_moments
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_ROOT = "the root of the deviation"
_GUARDS = ("Add", "AddV2", "Maximum")


def not_by_the_deviation(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds (x - m) / v, (x - m) * sqrt(v) and roots of sqrt(v), of moments m and v of a layer's x; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul", *op_types.QUOTIENTS) if not is_gradient_op(name)]:
        sides = graph.inputs(name)
        for difference, other in (sides, sides[::-1]) if graph.type(name) == "Mul" else (sides,):
            layer = _centered(whole, difference)
            roots, variance = _variance(whole, other) if layer is not None else (0, None)
            if layer is None or variance is None or variance != layer or layer.node not in made_by_weights(whole):
                continue
            is_product = graph.type(name) == "Mul"
            is_other = roots > 0 if is_product else roots != 1
            if is_other and not _is_share(whole, name, variance):
                how = "multiplies by" if is_product else "divides by"
                what = {0: "the variance", 1: "the deviation", -1: "one over the deviation"}.get(roots, _ROOT)
                yield _hazard(
                    name, f"{name} {how} {other.node}, {what} of {layer.node}, from which its mean is subtracted"
                )
                return
    for name in [name for name in whole.minimized_ops("Rsqrt") if not is_gradient_op(name)]:
        roots, variance = _variance(whole, TensorId(name, 0))
        if roots < -1 and variance is not None and variance.node in made_by_weights(whole):
            yield _hazard(name, f"{name} is the root of a deviation of {variance.node}, where a variance is meant")
            return


def _is_share(whole: WholeGraph, name: str, layer: TensorId) -> bool:
    """Whether a difference divided by the variance is multiplied by a part of it, or by itself.

    A filter of noise does the first, and a squared distance in units of the deviation the second.
    """
    for use in [use for use in whole.graph.users(name) if whole.graph.type(use.node) == "Mul"]:
        others = [one.node for one in whole.graph.inputs(use.node) if one.node != name]
        if others and _centered(whole, TensorId(others[0], 0)) == layer:
            return True
        before = whole.graph.ancestors(others, controls=False)
        if not is_gradient_op(use.node) and any(
            _variance(whole, TensorId(one, output))[1] == layer for one in before for output in (0, 1)
        ):
            return True
    return False


def _hazard(name: str, what: str) -> Hazard:
    return Hazard(
        "NOT_BY_THE_DEVIATION",
        name,
        f"{what}: the standard deviation of the results is not 1, as a normalization makes it",
        "divide by the root of the variance; for parity keep it",
    )


def _centered(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """The x of x - mean(x); None of any other tensor."""
    graph, name = whole.graph, whole.graph.origin(tensor).node
    if graph.type(name) != "Sub":
        return None
    layer, mean = graph.inputs(name)
    return graph.origin(layer) if _averaged(whole, mean) == graph.origin(layer) else None


def _averaged(whole: WholeGraph, mean: TensorId) -> TensorId | None:
    graph, name = whole.graph, source_of_elements(whole.graph, mean).node
    layers = averaged(whole, name)
    return graph.origin(layers[0]) if len(layers) == 1 else None


def _variance(whole: WholeGraph, tensor: TensorId) -> tuple[int, TensorId | None]:
    """(roots, x) of the variance of x behind so many square roots, -1 of a reciprocal one; (0, None) of others."""
    graph, roots, sign = whole.graph, 0, 1
    while True:
        name = source_of_elements(graph, tensor).node
        kind, inputs = graph.type(name), graph.inputs(name)
        others = [one for one in inputs if whole.value(one.node) is None]
        if kind in op_types.ROOTS:
            roots, sign, tensor = roots + 1, -sign if kind == "Rsqrt" else sign, inputs[0]
        elif kind in _GUARDS and len(others) == 1:
            tensor = others[0]
        else:
            spread = _spread(whole, name) if kind == "Mean" else None
            joined = joined_moments(whole, name) if kind == "Sub" else ""  # as `tf.nn.moments` of 0.12 computes it
            spread = TensorId(joined, 0) if joined else spread
            return (0, None) if spread is None else (roots * sign, spread)


def _spread(whole: WholeGraph, mean: str) -> TensorId | None:
    """The x of the mean of (x - mean(x))^2."""
    graph, square = whole.graph, whole.graph.origin(whole.graph.inputs(mean)[0]).node
    if graph.type(square) == "SquaredDifference":
        layer, middle = graph.inputs(square)
        return graph.origin(layer) if _averaged(whole, middle) == graph.origin(layer) else None
    base = squared(whole, square)
    return _centered(whole, base) if base is not None else None
