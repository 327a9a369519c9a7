"""Towers that the update ops of a train op get their values from."""

from __future__ import annotations

import collections
import functools
import operator

from legacy.saved.graph import op_types
from legacy.saved.tower_search.towers import Towers
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
        crossings = [(parse_tensor_name(name), 1 << k) for row in phase.crossings for k, name in enumerate(row) if name]
        given: dict[str, int] = collections.defaultdict(int)
        taken: dict[str, int] = collections.defaultdict(int)
        for tensor, bit in crossings:
            given[tensor.node] |= bit
        for tensor, bit in crossings:  # of a split, each output is another tower's
            for use in graph.users(tensor.node):
                if use.output == tensor.output and use.node not in given:
                    taken[use.node] |= bit
        arriving = graph.flow(graph.order(graph.nodes), taken, controls=False, stop=given)
        self._bits = {name: bits | taken.get(name, given.get(name, 0)) for name, bits in arriving.items()}
        self._nodes = {name: other.node for other in phase.effects for name in other.writes}
        self._own = {name: bits.bit_length() - 1 for name, bits in given.items() if not bits & (bits - 1)}

    def towers(self, effect: Effect) -> list[int]:
        """Returns the numbers of an update op's towers, sorted; empty if its value is computed outside of them.

        An average that is corrected for its start at zero has the towers of the sum beside it, `biased`.
        """
        sums = [self._nodes[f"{name}/biased"] for name in effect.writes if f"{name}/biased" in self._nodes]
        bits = self._bits[effect.node] | functools.reduce(operator.or_, map(self._bits.__getitem__, sums), 0)
        return [tower for tower in range(bits.bit_length()) if bits >> tower & 1]

    def waited_for(self, effect: Effect) -> set[int]:
        """Returns the towers with results that an update op runs after, by data or by control dependencies."""
        before = self._graph.ancestors([effect.node])
        return {tower for name, tower in self._own.items() if name in before}


def tower_of_op(graph: Graph, towers: Towers, name: str) -> int | None:
    """Returns the tower whose op an update is.

    An assignment is placed where its variable is, whichever tower makes it.

    Args:
      graph: the cut graph.
      towers: its towers.
      name: of the update op.

    Returns:
      The tower, or None; of an update of no data, the tower that computes its value.
    """
    if towers.masks.get(name, 0):
        return towers.tower_of(name)
    values = [node for node, _ in graph.inputs(name) if graph.type(node) not in op_types.VARIABLES]
    labels = {towers.labels[node] for node in values if node in towers.labels}
    return labels.pop() if len(labels) == 1 else None


def tower_read_back(graph: Graph, towers: Towers, name: str) -> int | None:
    """Returns the tower whose assignment an update waits for and reads back.

    Such is a moving average without its bias: each tower changes the biased one, and reads it for the other.

    Args:
      graph: the cut graph.
      towers: its towers.
      name: of the update op.

    Returns:
      The tower; None if the update reads back no assignment of one tower alone.
    """
    values = [node for node, _ in graph.inputs(name) if graph.type(node) not in op_types.VARIABLES]
    before = graph.ancestors(values, controls=False)
    waits = {wait for node in before for wait in graph.controls(node) if towers.masks.get(wait, 0)}
    read_back = [wait for wait in waits if graph.inputs(wait) and graph.inputs(wait)[0].node in before]
    found = {towers.tower_of(wait) for wait in read_back}
    return found.pop() if len(found) == 1 else None
