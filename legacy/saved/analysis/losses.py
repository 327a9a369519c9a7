"""Finds the loss of each tower: what is differentiated there, or the tower's term of one loss of all towers."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from legacy.saved.analysis.loss_terms import term_weights, weights_are_known
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import PASSES_DERIVATIVE, differentiated, differentiations, without_zero
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

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
    targets = differentiated(graph, members)
    are_of_all = all(towers.is_shared(target) and weights_are_known(graph, towers, target) for target in targets)
    weighted = _weighted_terms(graph, towers, members)
    for target in targets:
        tower = towers.tower_of(target)
        if target in weighted:
            one, tensors = weighted[target]
            found[one] += tensors
        elif tower is not None:
            found[tower].append(without_zero(graph, TensorId(target, 0)))
        elif towers.is_shared(target):
            own = term_weights(graph, towers, target)
            weights.update(own)
            complete = _terms_of_towers(towers, own)
            terms = complete or _terms_of_one_tower(towers, own)
            terms = terms or {one: [tensor] for one, tensor in _nearest_of_towers(graph, towers, target).items()}
            for one, tensors in terms.items():  # a further loss of all towers, as of a second optimizer, adds its terms
                found[one] = [*found[one], *tensors] if complete and are_of_all else found[one] or tensors
    rows = list(zip(*_alike(graph, [list(dict.fromkeys(found[tower])) for tower in range(towers.count)])))
    rows = [row for row in rows if _depends_on_variables(graph, row[0])] or rows
    if not rows:
        return TowerLosses([], [])
    of_rows = [weights.get(row[0], 1.0) for row in rows]
    is_alike = all(abs(weight - of_rows[0]) <= WEIGHT_TOLERANCE * abs(of_rows[0]) for weight in of_rows)
    return TowerLosses(list(rows[0]), [list(row) for row in rows[1:]], [] if is_alike else of_rows)


def _weighted_terms(graph: Graph, towers: Towers, members: Collection[str]) -> dict[str, tuple[int, list[TensorId]]]:
    """Returns {target: the tower that alone differentiates it, its terms}, of targets that depend on all; else {}.

    So it is where each tower's losses are weighted by its share of what all towers count, outside of the towers.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      members: nodes that one train op runs.
    """
    found: dict[str, tuple[int, list[TensorId]]] = {}
    for root, targets in differentiations(graph, members).items():
        backward = set(filter(is_gradient_op, graph.descendants({root}, controls=False) & set(members)))
        by = {towers.labels[name] for name in backward if name in towers.labels}
        if len(by) != 1 or len(targets) != 1 or not towers.is_shared(targets[0]) or targets[0] in towers.labels:
            return {}
        differentiated_ops = {forward_name(name, graph.nodes) for name in backward}
        tower = by.pop()
        found[targets[0]] = tower, _terms_with_derivative(graph, towers, targets[0], tower, differentiated_ops)
    is_complete = sorted(tower for tower, _ in found.values()) == list(range(towers.count))
    return found if is_complete and all(terms for _, terms in found.values()) else {}


def _terms_with_derivative(
    graph: Graph, towers: Towers, target: str, tower: int, differentiated_ops: Collection[str | None]
) -> list[TensorId]:
    """Returns the tensors of one tower that a function of all towers' results takes, and that are differentiated.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      target: the node of the function's result.
      tower: the tower.
      differentiated_ops: forward nodes with gradient ops.
    """
    found: dict[TensorId, None] = {}
    todo, seen = [target], {target}
    while todo:
        for tensor in graph.inputs(todo.pop(0)):
            if towers.tower_of(tensor.node) == tower and _has_derivative(graph, tensor.node, differentiated_ops):
                found[without_zero(graph, tensor)] = None
            elif towers.is_shared(tensor.node) and tensor.node not in seen:
                seen.add(tensor.node)
                todo.append(tensor.node)
    return list(found)


def _has_derivative(graph: Graph, name: str, differentiated_ops: Collection[str | None]) -> bool:
    """Returns whether a node has a gradient op, or is a sum, which needs none, of such a node."""
    todo, seen = [name], {name}
    while todo:
        node = todo.pop()
        if node in differentiated_ops:
            return True
        inputs = [tensor.node for tensor in graph.inputs(node)] if graph.type(node) in PASSES_DERIVATIVE else []
        todo += [one for one in inputs if one not in seen]
        seen.update(inputs)
    return False


def _depends_on_variables(graph: Graph, tensor: TensorId) -> bool:
    """Returns whether a term may be a loss: a mask of the data, which losses are multiplied by, is none."""
    return any(graph.type(name) in op_types.VARIABLES for name in graph.ancestors([tensor.node], controls=False))


def _alike(graph: Graph, losses: Sequence[list[TensorId]]) -> list[list[TensorId]]:
    """Returns each tower's losses without those that others have no like of, as of a term in one tower alone.

    Args:
      graph: the subgraph that a step runs.
      losses: of each tower.
    """
    fewest = min(losses, key=len)
    if all(len(own) == len(fewest) for own in losses):
        return list(losses)
    return [own if len(own) == len(fewest) else _matches(graph, fewest, own) for own in losses]


def _matches(graph: Graph, wanted: Sequence[TensorId], among: Sequence[TensorId]) -> list[TensorId]:
    """Returns for each of some losses the one of another tower, of more losses, that is made of the most like ops."""
    kinds = {loss: collections.Counter(map(graph.type, graph.ancestors([loss.node]))) for loss in (*wanted, *among)}
    free, found = list(among), []
    for loss in wanted:
        found.append(min(free, key=lambda one: sum(((kinds[loss] | kinds[one]) - (kinds[loss] & kinds[one])).values())))
        free.remove(found[-1])
    return found


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


def _terms_of_one_tower(towers: Towers, weights: Mapping[TensorId, float]) -> dict[int, list[TensorId]]:
    """Returns {tower: its terms} where all are one tower's, such as its loss over what all towers count; else {}."""
    owners = {towers.tower_of(tensor.node) for tensor in weights}
    tower = owners.pop() if len(owners) == 1 else None
    return {} if tower is None else {tower: list(weights)}


def _nearest_of_towers(graph: Graph, towers: Towers, target: str) -> dict[int, TensorId]:
    """Returns {tower: its tensor nearest to a node that depends on several towers}, breadth first.

    A tensor that depends on no variable, such as labels or a mask, is taken only where the tower has no other.
    """
    found: dict[int, TensorId] = {}
    labels: dict[int, TensorId] = {}
    level, seen = [target], {target}
    while level and len(found) < towers.count:
        behind = []
        for tensor in [tensor for name in level for tensor in graph.inputs(name)]:
            tower = towers.tower_of(tensor.node)
            if tower is not None:
                own = found if _depends_on_variables(graph, tensor) else labels
                own.setdefault(tower, without_zero(graph, tensor))
            elif tensor.node not in seen:
                seen.add(tensor.node)
                behind.append(tensor.node)
        level = behind
    return {**labels, **found}
