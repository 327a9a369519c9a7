"""Owners of moving statistics: which replicas' proposals explain the values that a side keeps after a step.

In a step every replica proposes a new value for each statistic of batch normalization. A side keeps the first
replica's, the last one's, the mean of all, the result of applying all of them in turn, or none.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm
from workloads.program import Arrays, State, StepRecord

#: Momenta of the statistics that applying all proposals in turn is tried with; no record states the true one.
MOMENTA = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.997, 0.999, 0.9997, 0.9999)

#: An owner explains a step if what it leaves over is at most this part of the step's change.
MOST_UNEXPLAINED = 1e-3


class OwnerKind(enum.Enum):
    """Kinds of owner: a certain replica, the mean of all, all one after the other, or none."""

    FIRST = "first replica"
    LAST = "last replica"
    MEAN = "mean of all replicas"
    REPLICA = "a replica between the first and the last"
    NONE = "no replica"
    IN_TURN = "all replicas in turn"


class StatisticsOwner(NamedTuple):
    """One hypothesis about which proposals a side keeps.

    Attributes:
      kind: `OwnerKind`.
      replica: index of the replica; used by `OwnerKind.REPLICA` only.
      momentum: momentum of the statistics' update; used by `OwnerKind.IN_TURN` only.
    """

    kind: OwnerKind
    replica: int = 0
    momentum: float = 0.0

    def expected_values(self, old: np.ndarray, proposals: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the statistics after a step under this hypothesis.

        Args:
          old: statistics before the step, float64 [elements].
          proposals: each replica's proposal, float64 [elements].

        Returns:
          float64 [elements].
        """
        if self.kind is OwnerKind.MEAN:
            return sum(proposals, np.zeros(())) / len(proposals)
        if self.kind is OwnerKind.IN_TURN:  # each replica moves on what the one before it left
            value = old
            for proposal in proposals:
                value = self.momentum * value + (proposal - self.momentum * old)
            return value
        chosen = {OwnerKind.FIRST: 0, OwnerKind.LAST: -1, OwnerKind.REPLICA: self.replica}
        return old if self.kind is OwnerKind.NONE else proposals[chosen[self.kind]]


FIRST = StatisticsOwner(OwnerKind.FIRST)
LAST = StatisticsOwner(OwnerKind.LAST)
MEAN = StatisticsOwner(OwnerKind.MEAN)
NONE = StatisticsOwner(OwnerKind.NONE)


class KeptStatistics(NamedTuple):
    """One side's step as far as its owner is concerned: the state before, the record, the replicas' proposals."""

    before: State
    record: StepRecord
    proposals: list[Arrays]


def possible_owners(replicas: int) -> list[StatisticsOwner]:
    """Returns the hypotheses for so many replicas, the likely ones first."""
    middle = [StatisticsOwner(OwnerKind.REPLICA, replica=index) for index in range(1, replicas - 1)]
    in_turn = [StatisticsOwner(OwnerKind.IN_TURN, momentum=momentum) for momentum in MOMENTA]
    return [FIRST, LAST, MEAN, *middle, NONE, *in_turn]


def explaining_owners(rows: Sequence[KeptStatistics], names: Sequence[str]) -> dict[StatisticsOwner, float]:
    """Returns {owner: largest unexplained part of a step} of the owners that explain every step.

    Args:
      rows: steps of one side; those without proposals are left out.
      names: statistics to explain, all together.

    Returns:
      the owners in the order of `possible_owners`; empty where no step has proposals.
    """
    rows = [row for row in rows if row.proposals]
    if not rows:
        return {}
    found = {}
    for owner in possible_owners(len(rows[0].proposals)):
        worst = max(unexplained_part(row, owner, names) for row in rows)
        if worst <= MOST_UNEXPLAINED:
            found[owner] = worst
    return found


def unexplained_part(row: KeptStatistics, owner: StatisticsOwner, names: Sequence[str]) -> float:
    """Returns |kept - expected| / |expected - old|; 0 or infinity for `NONE`, which explains no change at all.

    Args:
      row: one step of one side.
      owner: the hypothesis that gives the expected values.
      names: statistics to explain, all together.

    Returns:
      0 if the owner explains the step, about 1 if it does not.
    """
    old, kept = flatten_arrays(row.before.statistics, names), flatten_arrays(row.record.state.statistics, names)
    if owner.kind is OwnerKind.NONE:
        return 0.0 if np.array_equal(old, kept) else float("inf")
    expected = owner.expected_values(old, [flatten_arrays(proposal, names) for proposal in row.proposals])
    return relative_norm(kept - expected, expected - old)
