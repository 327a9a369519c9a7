"""Regularization terms that were made for a loss, and that no gradient contains."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import SUMS, constant_factor, linear_inputs
from legacy.saved.hazards.penalties.norms_with_weights import norms_with_weights
from legacy.saved.hazards.penalties.terms import PENALTIES, Penalty, has_root, users_of

#: Collections that hold terms of the loss.
LOSS_COLLECTIONS = ("regularization_losses", "losses", "weight_losses")
#: Largest factor of a sum of squares that is a weight in a loss: another, as the 2 of a norm, may be of a display.
MOST_WEIGHT = 0.1


def lost_penalties(
    whole: WholeGraph, groups: Sequence[Sequence[Penalty]], reached: Collection[str]
) -> list[Sequence[Penalty]]:
    """Finds the terms that no gradient contains although they were made for a loss.

    Args:
      whole: the graph.
      groups: its terms, those of the towers that correspond together.
      reached: the nodes that what is differentiated is computed from.

    Returns:
      The groups that are lost. Beside others that are not, only those that have a scale, and end in nothing.
    """
    lost = [entries for entries in groups if not any(entry.op in reached for entry in entries)]
    lost = [entries for entries in lost if any(_is_meant_for_a_loss(whole, entry.op) for entry in entries)]
    if not any(entry.op in reached for entries in groups for entry in entries):
        return lost
    return [entries for entries in lost if all(_is_dropped(whole, entry) for entry in entries)]


def _is_dropped(whole: WholeGraph, penalty: Penalty) -> bool:
    """Whether a term with a scale, of variables that are trained, ends in nothing that an op of the graph takes."""
    graph = whole.graph
    trained = {whole.variable_of(apply) for apply in whole.applies}
    behind = graph.descendants([penalty.op], controls=False)
    is_scaled = graph.type(penalty.op) == "Mul" and bool(PENALTIES.search(penalty.op))
    adds = all(any(linear_inputs(whole, name)) for name in behind)
    return is_scaled and adds and trained.issuperset(penalty.variables) and not behind & whole.minimized


def _is_meant_for_a_loss(whole: WholeGraph, name: str) -> bool:
    """Whether a term that no gradient contains was made for a loss.

    It is in a collection of losses, has a scale, or is added to what depends on data, as in a total that is displayed.
    """
    listed = {text.partition(":")[0] for key in LOSS_COLLECTIONS for text in whole.collections.get(key, [])}
    users = users_of(whole, name)
    if ({name} | users) & listed:
        return True
    if whole.graph.type(name) == "L2Loss":
        return _is_weighted_or_added(whole, name)  # a norm without a scale is only displayed
    return (
        bool(PENALTIES.search(name))
        or not all(whole.graph.type(user) in op_types.SUMMARIES for user in users)
        or not users
    )


def _is_weighted_or_added(whole: WholeGraph, name: str) -> bool:
    """Whether a term, by itself or in a sum of such, has a small weight, or is added to what depends on data.

    The norm of gradients and weights together is no loss.
    """
    seen, todo = {name}, [name]
    if any(name in norm.squares for norm in norms_with_weights(whole)):
        return False
    while todo:
        for user, _, _ in whole.graph.users(todo.pop()):
            if user in whole.data and whole.graph.type(user) in SUMS:
                return True
            scaled = constant_factor(whole, user)
            if scaled is not None and 0 < abs(scaled[1]) <= MOST_WEIGHT and not has_root(whole, user):
                return True
            if user not in seen and any(linear_inputs(whole, user)):
                seen.add(user)
                todo.append(user)
    return False
