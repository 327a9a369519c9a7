"""Towers that an update op gets its values from."""

from __future__ import annotations

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Effect, Phase


def updating_towers(graph: Graph, phase: Phase, effect: Effect) -> list[int]:
    """Finds the towers whose crossings an update op depends on.

    Args:
      graph: the cut graph.
      phase: the train op that runs the update op.
      effect: the update op.

    Returns:
      Numbers of the towers, sorted; empty if what is assigned is computed once, outside the towers.
    """
    tower_of = {name: tower for tower, row in enumerate(zip(*phase.crossings)) for name in row if name}
    needed = graph.ancestors([effect.node], {parse_tensor_name(name)[0] for name in tower_of}, controls=False)
    return sorted({tower for name, tower in tower_of.items() if parse_tensor_name(name)[0] in needed})
