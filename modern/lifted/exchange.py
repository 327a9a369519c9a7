"""Exchange of the tensors that leave the towers: interface, and the exchange that keeps the old graph's bits."""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence

import tensorflow as tf

from modern.collectives import exchange as replica_exchange
from modern.lifted.function import Tensors
from workloads.lifted.plan import Effect, Phase

#: Corresponding tensors, one for each tower, or None for a tower without.
Row = Sequence[str | None]


class Exchange(abc.ABC):
    """Assigns towers to replicas, and hands each replica the towers' results that its update needs.

    Attributes:
      cuts: names of the tensors that the update's pieces are cut at.
    """

    cuts: list[str]

    @abc.abstractmethod
    def describe(self, all_reduce: str) -> str:
        """Returns the way in which the towers' results are combined, where the strategy uses `all_reduce`."""

    @abc.abstractmethod
    def tower(self, replica: int) -> int:
        """Returns the number of the tower whose graph a replica runs."""

    @abc.abstractmethod
    def skips(self, effect: Effect, tower: int) -> bool:
        """Returns whether a replica that runs the graph of `tower` leaves an effect out."""

    @abc.abstractmethod
    def __call__(
        self, context: tf.distribute.ReplicaContext, tower: int, crossings: Tensors, needed: Collection[str]
    ) -> Tensors:
        """Exchanges crossings with the other replicas.

        Args:
          context: the replica's context.
          tower: number of the tower whose graph it runs.
          crossings: {tensor of the old graph: value} of what left this replica's tower.
          needed: names of the tensors that the update's pieces are fed with.

        Returns:
          {tensor of the old graph: value} of at least the `needed` ones.
        """


class ExchangeAsWritten(Exchange):
    """Every replica gets all that left the towers, and runs the old graph's own combining on it.

    Args:
      phase: the phase.
      towers: number of towers, and of replicas.
    """

    def __init__(self, phase: Phase, towers: int) -> None:
        self._phase, self._towers = phase, towers
        self.cuts = [name for row in phase.crossings for name in row if name is not None]

    def describe(self, all_reduce: str) -> str:
        return "as written, on every replica"

    def tower(self, replica: int) -> int:
        return replica

    def skips(self, effect: Effect, tower: int) -> bool:
        return False

    def __call__(
        self, context: tf.distribute.ReplicaContext, tower: int, crossings: Tensors, needed: Collection[str]
    ) -> Tensors:
        return gather_rows(context, tower, crossings, self._phase.crossings, needed)


def gather_rows(
    context: tf.distribute.ReplicaContext,
    tower: int,
    crossings: Tensors,
    rows: Sequence[Row],
    needed: Collection[str],
) -> Tensors:
    """Gathers corresponding tensors of all towers, where replica k runs the graph of tower k.

    Args:
      context: the replica's context.
      tower: number of its tower.
      crossings: {tensor of the old graph: value} of what left its tower.
      rows: corresponding tensors; those rows are gathered that have a needed one.
      needed: names of tensors.

    Returns:
      {tensor of the old graph: value} of the gathered rows.
    """
    rows = [row for row in rows if any(name in needed for name in row)]
    own = [crossings.get(row[tower] or "", tf.zeros([])) for row in rows]
    found: Tensors = {}
    for row, values in zip(rows, replica_exchange.gather(context, own)):
        found.update((name, value) for name, value in zip(row, values) if name is not None)
    return found
