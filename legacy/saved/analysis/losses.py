"""Finds the loss of each tower: the forward node from which `tf.gradients` started.

A gradient graph starts in a constant, the derivative of the loss by itself; the gradient op that uses this constant
carries the loss's name (see `gradient_names`). A sum has no gradient op of its own where its terms have its shape:
there the constant goes to the terms' gradient ops, and the loss is the node that adds these terms up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from legacy.saved.analysis.loss_terms import term_weights, without_zero
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

v1 = tf.compat.v1

#: Ops that hand the derivative by their result on to an input as it is, where shapes are equal.
PASSES_DERIVATIVE = ("Add", "AddV2", "AddN", "Sub", "Identity")
#: Relative difference up to which the terms of a loss of all towers have one weight.
WEIGHT_TOLERANCE = 1e-6


class TowerLosses(NamedTuple):
    """Losses of the towers.

    Attributes:
      main: one tensor a tower, in the towers' order; empty if the gradient graph does not tell every tower's.
      others: further rows of losses that are differentiated too, for some of the variables or besides.
      weights: of terms of one loss of all towers, the weight of each row, the main one first; empty if all are equal.
    """

    main: list[TensorId]
    others: list[list[TensorId]]
    weights: Sequence[float] = ()

    def nodes(self) -> set[str]:
        """Returns the names of all losses' nodes."""
        return {tensor.node for row in [self.main, *self.others] for tensor in row}


def find_losses(graph: Graph, towers: Towers, members: Collection[str]) -> TowerLosses:
    """Returns the losses of each tower.

    A loss that is made from all towers' losses (their mean) is followed back to theirs.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      members: nodes that one train op runs.

    Returns:
      The `TowerLosses`.
    """
    found: dict[int, list[TensorId]] = {tower: [] for tower in range(towers.count)}
    weights: dict[TensorId, float] = {}
    for target in differentiated(graph, members):
        tower = towers.tower_of(target)
        if tower is not None:
            found[tower].append(without_zero(graph, TensorId(target, 0)))
        elif towers.is_shared(target):
            own = term_weights(graph, towers, target)
            weights.update(own)
            terms = _terms_of_towers(towers, own)
            terms = terms or {one: [tensor] for one, tensor in _nearest_of_towers(graph, towers, target).items()}
            for one, tensors in terms.items():
                found[one] = found[one] or tensors
    rows = list(zip(*(list(dict.fromkeys(found[tower])) for tower in range(towers.count))))
    if not rows:
        return TowerLosses([], [])
    of_rows = [weights.get(row[0], 1.0) for row in rows]
    is_alike = all(abs(weight - of_rows[0]) <= WEIGHT_TOLERANCE * abs(of_rows[0]) for weight in of_rows)
    return TowerLosses(list(rows[0]), [list(row) for row in rows[1:]], [] if is_alike else of_rows)


def differentiated(graph: Graph, members: Collection[str]) -> list[str]:
    """Returns the forward nodes that `tf.gradients` started from, by the names of the gradient ops among `members`.

    The forward nodes need not be members: a mean's gradient depends on the mean's shape, and not on the mean. What is
    differentiated on the way to a loss, such as a critic's value in a gradient penalty, is none.
    """
    found = differentiations(graph, members)
    return list(dict.fromkeys(target for targets in found.values() for target in targets))


def differentiations(graph: Graph, members: Collection[str]) -> dict[str, list[str]]:
    """Returns {node from which a gradient graph starts: forward nodes that it differentiates}; see `differentiated`."""
    starts = gradient_starts(graph, members)
    targets = list(dict.fromkeys(target for found in starts.values() for target in found))
    inner = graph.ancestors(targets, controls=False) & set(starts)
    return {root: found for root, found in starts.items() if found and root not in inner}


def gradient_starts(graph: Graph, members: Collection[str]) -> dict[str, list[str]]:
    """Returns what `differentiations` does, with the gradient graphs that are differentiated again, and empty ones."""
    starts: dict[str, list[str]] = {}
    for root in graph.nodes:
        scope = gradient_names.gradient_scope(root) if root in members else None
        if scope is None or _is_integer(graph, root):
            continue
        named: list[str] = []
        for user, _, _ in graph.users(root):
            forward = gradient_names.forward_name_in(user, scope, graph.nodes) if user in members else None
            if forward is not None and forward in graph.nodes:
                named.append(forward)
        starts[root] = _sum_of(graph, list(dict.fromkeys(named)))
    return starts


def _is_integer(graph: Graph, name: str) -> bool:
    """Returns whether a node is a constant whole number, such as an axis, and so no derivative."""
    node = graph.nodes[name]
    return node.op == "Const" and node.attr["dtype"].type in (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)


def _sum_of(graph: Graph, terms: list[str]) -> list[str]:
    """Returns the node that adds some nodes up, in a list; the nodes themselves if no node does.

    Where several nodes do, as one that reports all towers' losses together, it is the one with the fewest other
    addends; then the nearest; then the one that was made last, just before it was differentiated.
    """
    if len(terms) < 2:
        return terms
    sums = _sums_over(graph, terms)
    order = {name: place for place, name in enumerate(graph.nodes)}
    return (
        [min(sums, key=lambda name: (_other_addends(graph, name, set(terms)), sums[name], -order[name]))]
        if sums
        else terms
    )


def _sums_over(graph: Graph, terms: list[str]) -> dict[str, int]:
    """Returns {node that adds some nodes up, and perhaps others: its greatest distance from one of them}."""
    distances: dict[str, dict[str, int]] = {}
    for term in terms:
        level, away = [term], 0
        while level:
            for name in level:
                distances.setdefault(name, {}).setdefault(term, away)
            users = {user for name in level for user, _, _ in graph.users(name)}
            level = [u for u in users if graph.type(u) in PASSES_DERIVATIVE and term not in distances.get(u, {})]
            away += 1
    return {name: max(found.values()) for name, found in distances.items() if len(found) == len(terms)}


def _other_addends(graph: Graph, name: str, terms: Collection[str]) -> int:
    """Returns how many addends a sum has besides some terms."""
    others, todo, seen = 0, [name], {name}
    while todo:
        sum_ = todo.pop()
        for addend in {tensor.node for tensor in graph.inputs(sum_)} - seen - set(terms):
            seen.add(addend)
            if graph.type(addend) in PASSES_DERIVATIVE:
                todo.append(addend)
            else:
                others += 1
    return others


def _terms_of_towers(towers: Towers, weights: Mapping[TensorId, float]) -> dict[int, list[TensorId]]:
    """Returns {tower: its terms} of a sum to which every tower adds as many, of the same weights in turn; else {}."""
    found: dict[int, list[TensorId]] = {tower: [] for tower in range(towers.count)}
    for tensor in weights:
        tower = towers.tower_of(tensor.node)
        if tower is not None:
            found[tower].append(tensor)
    rows = list(zip(*found.values()))
    is_complete = bool(rows) and all(len(own) == len(rows) for own in found.values())
    spreads = [[abs(weights[tensor] - weights[row[0]]) for tensor in row] for row in rows]
    is_alike = all(max(spread) <= WEIGHT_TOLERANCE * abs(weights[row[0]]) for spread, row in zip(spreads, rows))
    return found if is_complete and is_alike else {}


def _nearest_of_towers(graph: Graph, towers: Towers, target: str) -> dict[int, TensorId]:
    """Returns {tower: its tensor nearest to a node that depends on several towers}, breadth first."""
    found: dict[int, TensorId] = {}
    level, seen = [target], {target}
    while level and len(found) < towers.count:
        behind = []
        for tensor in [tensor for name in level for tensor in graph.inputs(name)]:
            tower = towers.tower_of(tensor.node)
            if tower is not None:
                found.setdefault(tower, without_zero(graph, tensor))
            elif tensor.node not in seen:
                seen.add(tensor.node)
                behind.append(tensor.node)
        level = behind
    return found
