"""Towers that the update ops of a train op get their values from."""

from __future__ import annotations

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Effect, Phase


class UpdateSources:
    """Towers whose crossings the update ops of one train op depend on.

    Args:
      graph: the cut graph.
      phase: the train op.
    """

    def __init__(self, graph: Graph, phase: Phase) -> None:
        self._graph = graph
        rows = [(parse_tensor_name(name).node, t) for row in phase.crossings for t, name in enumerate(row) if name]
        self._tower_of: dict[str, set[int]] = {}
        for node, tower in rows:
            self._tower_of.setdefault(node, set()).add(tower)

    def towers(self, effect: Effect) -> list[int]:
        """Returns the numbers of an update op's towers, sorted; empty if its value is computed outside of them."""
        needed = self._graph.ancestors([effect.node], self._tower_of, controls=False)
        return sorted({tower for name in needed for tower in self._tower_of.get(name, ())})
