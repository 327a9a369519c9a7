"""Exchanges of results between the towers before their gradients are known, in the order in which a step makes them.

A synchronized normalization in each layer exchanges moments once a layer, and their derivatives on the way back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from legacy.saved.analysis.division.crossings import Crossings
from workloads.lifted.graph import Graph, TensorId
from workloads.support.errors import InputError

#: Ops that make arrays and stacks of loops, which last as long as the run that made them.
_OF_ONE_RUN = ("TensorArray", "Stack")


class TowerExchange(NamedTuple):
    """One exchange.

    Attributes:
      early: tensors that leave the towers for it.
      returns: for each tower, tensors that enter it, made from what has left all towers by then.
      saved: for each tower, tensors that its nodes behind this exchange take from those before it.
    """

    early: Crossings
    returns: list[list[TensorId]]
    saved: list[list[TensorId]]


def find_exchanges(
    graph: Graph,
    members: Collection[str],
    tower_nodes: Mapping[str, int],
    returns: Sequence[Sequence[TensorId]],
    early: Crossings,
) -> list[TowerExchange]:
    """Divides tensors that come back into the towers into as few exchanges as possible.

    Args:
      graph: the cut graph.
      members: nodes that the step runs.
      tower_nodes: {node: the tower that computes it}.
      returns: for each tower, tensors that come back into it; see `StepParts`.
      early: tensors that leave the towers on their way to them.

    Returns:
      The exchanges, in order; none if nothing comes back.

    Raises:
      InputError: towers exchange results in each iteration of a loop.
    """
    if not any(returns):
        return []
    before = exchanges_before(graph, members, tower_nodes, returns)
    count = 1 + max(before.get(tensor.node, 0) for own in returns for tensor in own)
    found = []
    for number in range(count):
        at = [[tensor for tensor in own if before.get(tensor.node, 0) == number] for own in returns]
        saved = [_saved_tensors(graph, tower_nodes, tower, before, number) for tower in range(len(returns))]
        found.append(TowerExchange(_at(early, before, number), at, saved))
    return found


def exchanges_before(
    graph: Graph, members: Collection[str], tower_nodes: Mapping[str, int], returns: Sequence[Collection[TensorId]]
) -> dict[str, int]:
    """Counts the exchanges that nodes depend on.

    Args:
      graph: the cut graph.
      members: nodes that the step runs.
      tower_nodes: {node: the tower that computes it}.
      returns: for each tower, tensors that come back into it.

    Returns:
      {node: the number}; nodes that are left out depend on none.

    Raises:
      InputError: towers exchange results in each iteration of a loop.
    """
    most = len(set().union(*returns))
    before: dict[str, int] = {}
    entering = [set(own) for own in returns]
    todo = [use.node for own in entering for tensor in own for use in graph.users(tensor.node)]
    ordered = {name: place for place, name in enumerate(graph.order(members))}
    todo = sorted(set(todo) & set(ordered), key=ordered.__getitem__)
    while todo:
        again: set[str] = set()
        for name in todo:
            tower = tower_nodes.get(name)
            own = entering[tower] if tower is not None else ()
            number = max((before.get(tensor.node, 0) + (tensor in own) for tensor in graph.inputs(name)), default=0)
            if number > most:
                raise InputError(f"graph file: tower {tower} exchanges results in each iteration of a loop ({name})")
            if number > before.get(name, 0):
                before[name] = number
                again.update(use.node for use in graph.users(name))
        todo = sorted(again & set(ordered), key=ordered.__getitem__)
    return before


def _at(early: Crossings, before: Mapping[str, int], number: int) -> Crossings:
    """The crossings that leave their towers for one exchange; towers' matching ones may leave for others."""
    found = {
        key: {tower: tensor for tower, tensor in row.items() if before.get(tensor.node, 0) == number}
        for key, row in early.items()
    }
    return {key: row for key, row in found.items() if row}


def _saved_tensors(
    graph: Graph, tower_nodes: Mapping[str, int], tower: int, before: Mapping[str, int], number: int
) -> list[TensorId]:
    """Finds the tensors of a tower, computed between an exchange and the one before, that its later nodes take.

    Args:
      graph: the cut graph.
      tower_nodes: {node: the tower that computes it}.
      tower: its number.
      before: see `exchanges_before`.
      number: of the exchange.

    Returns:
      The tensors, each once.
    """
    behind = sorted(name for name, exchanges in before.items() if exchanges > number and tower_nodes.get(name) == tower)
    conditional = graph.frames() | graph.branches()
    taken = dict.fromkeys(tensor for name in behind for tensor in graph.inputs(name))
    return [
        tensor
        for tensor in taken
        if tower_nodes.get(tensor.node) == tower
        and before.get(tensor.node, 0) == number
        and tensor.node not in conditional
        and not graph.type(tensor.node).startswith(_OF_ONE_RUN)
    ]
