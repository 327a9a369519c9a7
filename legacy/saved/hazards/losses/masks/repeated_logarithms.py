"""Hazard of a cross entropy by hand that adds one of its terms twice, as where a mask's parenthesis is closed early."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SUMS = (*op_types.ADDITIONS, "Sub", "Neg", "Identity")


def repeated_logarithms(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums with a product that has a logarithm, such as (1 - y) log(1 - p), twice with one sign; one for all.

    It is computed twice, of the same: a term that is wanted twice is multiplied by 2, or added once more as it is.
    """
    graph, numbers, made = whole.graph, structures(whole), made_by_weights(whole)
    for name in whole.minimized_ops(*op_types.ADDITIONS, "Sub"):
        users = {use.node for use in graph.users(name)} & whole.minimized
        if is_gradient_op(name) or any(graph.type(user) in _SUMS for user in users):
            continue  # of the whole sum alone
        groups: dict[tuple[int, int], dict[str, None]] = collections.defaultdict(dict)
        for term, sign in _signed_terms(graph, name):
            if term in numbers and term in whole.data and _has_logarithm(graph, made, term):
                groups[numbers[term], sign].setdefault(term)
        repeated = next((list(terms) for terms in groups.values() if len(terms) > 1), [])
        if repeated:
            yield Hazard(
                "TERM_REPEATED",
                name,
                f"{name} adds {repeated[0]} and {repeated[1]}, which compute the same logarithm times the same: that "
                "part of a cross entropy counts twice, perhaps since a parenthesis is closed before it, so that the "
                "mask before it does not multiply it",
                "multiply each mask with the whole cross entropy; for parity keep both",
            )
            return


def _signed_terms(graph: Graph, name: str) -> list[tuple[str, int]]:
    """(term, 1 or -1) of each term of a sum, in the graph's order."""
    found, todo = [], [(name, 1)]
    while todo:
        node, sign = todo.pop()
        kind, inputs = graph.type(node), [tensor.node for tensor in graph.inputs(node)]
        if kind not in _SUMS:
            found.append((node, sign))
            continue
        signs = [sign, -sign] if kind == "Sub" else [-sign] if kind == "Neg" else [sign] * len(inputs)
        todo += reversed(list(zip(inputs, signs)))
    return found


def _has_logarithm(graph: Graph, made: Collection[str], term: str) -> bool:
    """Whether a logarithm of what weights made is a factor of a term, beside another one."""
    todo, is_product = [term], False
    while todo:
        node = todo.pop()
        kind, inputs = graph.type(node), [tensor.node for tensor in graph.inputs(node)]
        if kind == "Log" and is_product:
            return node in made
        if kind in ("Mul", "Neg", "Identity"):
            is_product |= kind == "Mul"
            todo += inputs
    return False
