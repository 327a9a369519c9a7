"""Topological orders of a graph's nodes, in which a set of control inputs that many nodes have is counted once.

Where a thousand updates wait for a thousand others, there are a million control edges, and one such set: a `Barrier`.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Deque, Dict, List, NamedTuple, Tuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


class Barrier(NamedTuple):
    """A set of control inputs, and the nodes that have just these.

    Attributes:
      before: names of the nodes that are waited for, as the NodeDefs list them.
      after: names of the nodes that wait for them, in the order of the GraphDef.
    """

    before: List[str]
    after: List[str]


def nodes_after(barriers: Sequence[Barrier], positions: Mapping[str, int]) -> Dict[str, List[str]]:
    """Returns {node: those with a control input from it, in the order of their positions}; equal lists are one object.

    >>> nodes_after([Barrier(["a", "b"], ["d"]), Barrier(["b"], ["c"])], {"a": 0, "b": 1, "c": 2, "d": 3})
    {'a': ['d'], 'b': ['c', 'd']}
    """
    behind = _barriers_behind(barriers)
    merged: Dict[Tuple[int, ...], List[str]] = {}
    for numbers in {tuple(numbers) for numbers in behind.values()}:
        names = [name for number in numbers for name in barriers[number].after]
        merged[numbers] = sorted(names, key=positions.__getitem__)
    return {name: merged[tuple(numbers)] for name, numbers in behind.items()}


def _barriers_behind(barriers: Sequence[Barrier]) -> Dict[str, List[int]]:
    """Returns {node: numbers of the barriers that wait for it}."""
    found: Dict[str, List[int]] = collections.defaultdict(list)
    for number, barrier in enumerate(barriers):
        for name in barrier.before:
            found[name].append(number)
    return dict(found)


class TopologicalOrder:
    """Orders nodes of one graph.

    Args:
      inputs: {node: producers of its data inputs, without a loop's back edges}, in the order of the GraphDef.
      barriers: the different sets of control inputs.
    """

    def __init__(self, inputs: Mapping[str, Sequence[str]], barriers: Sequence[Barrier]) -> None:
        self._inputs, self._barriers = inputs, barriers
        self._positions = {name: position for position, name in enumerate(inputs)}
        self._behind = _barriers_behind(barriers)
        self._users: Dict[str, List[str]] = {name: [] for name in inputs}
        for name, producers in inputs.items():
            for producer in producers:
                if producer in self._users:
                    self._users[producer].append(name)

    def sorted(self, members: Collection[str], extra: Iterable[tuple[str, str]] = ()) -> List[str]:
        """Returns the nodes `members`, each after all that it needs; otherwise in the order of the GraphDef.

        Args:
          members: nodes of the graph.
          extra: further (before, after) edges to respect.

        Raises:
          ValueError: there is no such order; the message is the name of a node on the cycle.

        >>> order = TopologicalOrder({"c": ["a"], "a": [], "b": []}, [Barrier(["b"], ["a"])])
        >>> order.sorted({"a", "b", "c"}), order.sorted({"a", "b"}, [("b", "a")])
        (['b', 'a', 'c'], ['b', 'a'])
        """
        waits, open_barriers = self._waits(members)
        added: Dict[str, List[str]] = collections.defaultdict(list)
        for before, name in extra:
            added[before].append(name)
            waits[name] += 1
        ready: Deque[str] = collections.deque(name for name, count in waits.items() if count == 0)
        ordered = []
        while ready:
            name = ready.popleft()
            ordered.append(name)
            for user in self._released(name, open_barriers) + added.get(name, []):
                if user in waits:
                    waits[user] -= 1
                    if waits[user] == 0:
                        ready.append(user)
        if len(ordered) < len(waits):
            raise ValueError(next(name for name, count in waits.items() if count > 0))
        return ordered

    def _waits(self, members: Collection[str]) -> Tuple[Dict[str, int], Counter[int]]:
        """Counts the members that each member and each barrier waits for; takes no longer for a graph with more others.

        Returns:
          {member: number of its data inputs, and 1 if it waits at a barrier}, in the order of the GraphDef;
          and {number of a barrier: how many members it waits for}.
        """
        ordered = sorted((name for name in members if name in self._positions), key=self._positions.__getitem__)
        waits = {name: sum([producer in members for producer in self._inputs[name]]) for name in ordered}
        open_barriers = collections.Counter(number for name in ordered for number in self._behind.get(name, ()))
        for number in open_barriers:
            for name in self._barriers[number].after:
                if name in waits:
                    waits[name] += 1
        return waits, open_barriers

    def _released(self, name: str, open_barriers: Counter[int]) -> List[str]:
        """Returns the nodes that wait for less when a node has run, in order; counts down the barriers behind it."""
        released = self._users[name]
        for number in self._behind.get(name, ()):
            open_barriers[number] -= 1
            if open_barriers[number] == 0:
                released = sorted(released + self._barriers[number].after, key=self._positions.__getitem__)
        return released
