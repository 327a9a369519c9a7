"""The policies by which towers' updates become the next value of a statistic, as pure functions of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

from workloads.numerics import combining

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import tensorflow as tf

FIRST_TOWER, MEAN_OF_TOWERS, LAST_TOWER = "first_tower", "mean_of_towers", "last_tower"
TOWERS_IN_TURN = "towers_in_turn"
#: Values of `Workload.statistics`.
STATISTICS = (FIRST_TOWER, MEAN_OF_TOWERS, LAST_TOWER, TOWERS_IN_TURN)
#: {statistic: tensor}.
Tensors = Dict[str, Any]
#: {statistic: function from its value to the next one}.
Changes = Dict[str, "Callable[[tf.Tensor], tf.Tensor]"]


class Proposals(Dict[str, Any]):
    """{statistic: the value that a tower proposes}, with the functions that make these values.

    Args:
      values: {statistic: tensor}.
      changes: {statistic: function from its value to the next one}.

    Attributes:
      changes: as given.
    """

    def __init__(self, values: Mapping[str, tf.Tensor], changes: Changes) -> None:
        super().__init__(values)
        self.changes = dict(changes)


def changes_of(proposals: Tensors) -> Changes:
    """Returns the functions that come with proposals; none with a plain dict."""
    return proposals.changes if isinstance(proposals, Proposals) else {}


def takes_proposals_of(policy: str, tower: int, towers: int) -> bool:
    """Returns whether a tower that applies its updates alone updates the statistics too.

    Args:
      policy: one of `STATISTICS`.
      tower: number of the tower.
      towers: number of all.

    Returns:
      Whether it does.

    >>> [takes_proposals_of("last_tower", tower, 3) for tower in range(3)]
    [False, False, True]
    """
    alone = {FIRST_TOWER: 0, LAST_TOWER: towers - 1}
    return alone.get(policy, tower) == tower


def next_statistics(
    policy: str,
    proposals: Sequence[Tensors],
    changes: Sequence[Changes],
    values: Mapping[str, tf.Tensor],
    form: str,
) -> Tensors:
    """Computes the next values of the statistics from the towers' proposals.

    Args:
      policy: one of `STATISTICS`.
      proposals: for each tower {statistic: the value that it proposes}.
      changes: for each tower {statistic: function from its value to the next one}; for towers in turn only.
      values: {statistic: value before the step}; for towers in turn only.
      form: of a mean; see `combining.combine`.

    Returns:
      {statistic: next value}.
    """
    if policy in (FIRST_TOWER, LAST_TOWER):
        return proposals[0 if policy == FIRST_TOWER else -1]
    if policy == MEAN_OF_TOWERS:
        return {name: combining.combine([own[name] for own in proposals], "mean", form) for name in proposals[0]}
    result = {name: values[name] for name in changes[0]}
    for own in changes:
        result = {name: change(result[name]) for name, change in own.items()}
    return result
