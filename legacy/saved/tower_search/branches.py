"""Recognises branches of one model, such as those of an Inception block, which have numbers like towers do."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph
from workloads.lifted.tensors import gradient_names

#: Ops that hand on the value of a variable.
_READS = ("Identity", "ReadVariableOp", "Enter", "RefEnter", "Cast", "Switch", "RefSwitch")


def are_branches(graph: Graph, towers: Towers, weights: Collection[str]) -> bool:
    """Returns whether candidates for towers are branches of one model.

    Towers read the same weights, or each has a loss that no further weight enters. Branches have weights of their own,
    all of them, and a layer with weights takes what they make together.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      weights: names of the variables that are trained.

    Returns:
      The answer.
    """
    gradients = [name for name in graph.nodes if gradient_names.is_gradient_op(name)]
    of_gradients = graph.descendants(gradients, controls=False)
    joined = False
    for weight in weights:
        users = _forward_users(graph, weight, of_gradients)
        owners = {towers.tower_of(name) for name in users} - {None}
        if len(owners) > 1:
            return False
        joined = joined or any(towers.is_shared(name) for name in users)
    return joined


def _forward_users(graph: Graph, weight: str, of_gradients: Collection[str]) -> set[str]:
    """The nodes that compute with a variable's value, and with no gradient."""
    found, seen, todo = set(), {weight}, [weight]
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user in seen:
                continue
            seen.add(user)
            if graph.type(user) in _READS:
                todo.append(user)
            elif user not in of_gradients:
                found.add(user)
    return found
