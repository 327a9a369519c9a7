"""Hazard of a structural similarity (SSIM) that is minimized, in place of one minus it."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def minimized_similarities(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds (2 a b + c) / (a a + b b + c) of two images' means, as a factor of what a loss lowers; one for all."""
    graph = whole.graph
    ratios = [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]
    ratios = [name for name in ratios if name in made_by_weights(whole) and _is_similarity(whole, name)]
    products = {use.node for name in ratios for use in graph.users(name) if graph.type(use.node) == "Mul"}
    for target in minimized_targets(whole) if ratios else []:
        for name, sign in linear_signs(whole, target).items():
            if sign > 0 and (name in ratios or name in products):
                yield Hazard(
                    "SIMILARITY_MINIMIZED",
                    name,
                    f"a loss adds {name}, the structural similarity (SSIM) of two images, which is 1 where they are "
                    "equal: training makes them unlike",
                    "one minus the similarity; for parity keep it",
                )
                return


def _is_similarity(whole: WholeGraph, name: str) -> bool:
    """Whether a quotient, or one of a factor of both of its sides, is that of the luminances of a result and data.

    Two results may be made unlike on purpose, as generated images, or those of an autoencoder as a critic.
    """
    above, below = (_factors(whole, tensor) for tensor in whole.graph.inputs(name))
    pairs = {pair for one in above for other in below for pair in _products(whole, one) & _squares(whole, other)}
    return any(len({_is_result(whole, image.node) for image in pair}) == 2 for pair in pairs)


def _is_result(whole: WholeGraph, image: str) -> bool:
    """Whether weights make the values of an image, and not its shape alone, by which another one is filtered."""
    shapes = set(whole.graph.of_types(*op_types.SHAPE_OPS))
    return bool((whole.graph.ancestors([image], stop=shapes, controls=False) - shapes) & whole.trainable)


def _factors(whole: WholeGraph, tensor: TensorId) -> list[str]:
    name = whole.graph.origin(tensor).node
    return (
        [whole.graph.origin(one).node for one in whole.graph.inputs(name)]
        if whole.graph.type(name) == "Mul"
        else [name]
    )


def _terms(whole: WholeGraph, name: str) -> list[str]:
    """The terms of nested sums that depend on data."""
    graph, todo, found = whole.graph, [name], []
    while todo:
        node = todo.pop()
        if graph.type(node) in op_types.SUMS_OF_TWO:
            todo += [graph.origin(tensor).node for tensor in graph.inputs(node)]
        elif node in whole.data:
            found.append(node)
    return found


def _products(whole: WholeGraph, name: str) -> set[frozenset[TensorId]]:
    """{the pair {a, b}} of a sum 2 a b + c."""
    terms = _terms(whole, name) if whole.graph.type(name) in op_types.SUMS_OF_TWO else []
    todo, factors = list(terms) if len(terms) == 1 else [], []
    while todo:
        node = todo.pop()
        for tensor in whole.graph.inputs(node) if whole.graph.type(node) == "Mul" else []:
            origin = whole.graph.origin(tensor)
            if whole.graph.type(origin.node) == "Mul":
                todo.append(origin.node)
            elif origin.node in whole.data:
                factors.append(origin)
    return {frozenset(factors)} if len(factors) == 2 else set()


def _squares(whole: WholeGraph, name: str) -> set[frozenset[TensorId]]:
    """{the pair {a, b}} of a sum a a + b b + c."""
    bases = [squared(whole, term) for term in _terms(whole, name)]
    return {frozenset(base for base in bases if base is not None)} if len(bases) == 2 and None not in bases else set()
