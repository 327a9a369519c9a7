"""Divides a step into the towers' own functions and what is computed once, from all towers' results.

A *cut* is a tensor that brings data into a tower: its share of the batch. A *crossing* is a tensor that leaves one: a
gradient on its way to the average, a batch statistic on its way into a moving mean. From the cuts to the crossings
leads the function that a replica runs; behind the crossings begins the function that runs once, after the replicas
have exchanged them.
"""

from __future__ import annotations

from typing import NamedTuple

from legacy.saved.analysis.division.crossings import Crossings, find_crossings
from legacy.saved.analysis.division.entering import find_common_cuts, find_cuts
from legacy.saved.analysis.division.exchanges import TowerExchange, find_exchanges
from legacy.saved.analysis.division.labelled_step import LabelledStep
from legacy.saved.analysis.division.returns import find_returns, owned_inputs
from legacy.saved.analysis.division.tower_nodes import find_tower_nodes
from legacy.saved.analysis.input_places.drawn_numbers import numbers_drawn_once
from legacy.saved.analysis.input_places.wholes import numbers_of_wholes
from workloads.lifted.graph import TensorId


class StepParts(NamedTuple):
    """A step, divided into its towers and what is computed once.

    Attributes:
      tower_nodes: {node: the tower that computes it}.
      cuts: for each tower, the tensors that bring data into it, in order of first use.
      common_cuts: tensors that bring data or settings into what is computed once.
      crossings: tensors that leave the towers on their way to an update op, among them data that a tower takes and the
        update too, such as labels.
      returns: for each tower, tensors that come back into it from what was computed from all towers' results, such as
        the weight of its loss in a mean over all towers' words. Mostly empty.
      early_crossings: tensors that leave the towers on their way to the returns.
      exchanges: the exchanges of results that the returns come from, in order.
    """

    tower_nodes: dict[str, int]
    cuts: list[list[TensorId]]
    common_cuts: list[TensorId]
    crossings: Crossings
    returns: list[list[TensorId]]
    early_crossings: Crossings
    exchanges: list[TowerExchange]

    @property
    def entering(self) -> list[list[TensorId]]:
        """For each tower, and for what is computed once, the tensors that bring data into it."""
        return [*self.cuts, self.common_cuts]

    @property
    def saved_tensors(self) -> list[list[TensorId]]:
        """For each tower, tensors that its nodes behind an exchange take from its nodes before it."""
        return [[tensor for one in self.exchanges for tensor in one.saved[tower]] for tower in range(len(self.cuts))]


def divide_step(step: LabelledStep) -> StepParts:
    """Divides one step.

    Raises:
      InputError: a tower uses a variable after the step has changed it, or towers exchange results inside of a loop.
    """
    graph, towers, order = step.graph, step.towers, step.order
    members = graph.ancestors(step.members | {name for name, _ in step.losses}, controls=False)
    step = step._replace(members=members)
    tower_nodes = find_tower_nodes(step)
    owners = owned_inputs(graph, towers, tower_nodes)
    returns = find_returns(graph, towers.count, members, tower_nodes, owners)
    crossings = find_crossings(graph, step.state, [TensorId(name, 0) for name in order.effects], tower_nodes, owners)
    returned = list(dict.fromkeys(tensor for tower in returns for tensor in tower))
    early = find_crossings(graph, step.state, returned, tower_nodes, owners)
    exchanges = find_exchanges(graph, members, tower_nodes, returns, early)
    cuts = find_cuts(step, tower_nodes, returns)
    returned_once = [tensor for tensor in returned if tensor not in owners and tensor[0] not in tower_nodes]
    leaving = {tensor for row in [*crossings.values(), *early.values()] for tensor in row.values()}
    common_cuts = find_common_cuts(step, tower_nodes, returned_once, leaving)
    computed = numbers_of_wholes(graph, step.imported, cuts, common_cuts)
    computed |= numbers_drawn_once(graph, step.imported, cuts, common_cuts)
    if computed:
        cuts = find_cuts(step, tower_nodes, returns, computed)
        common_cuts = find_common_cuts(step, tower_nodes, returned_once, leaving, computed)
    return StepParts(tower_nodes, cuts, common_cuts, crossings, returns, early, exchanges)
