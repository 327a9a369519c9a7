"""Edges of a graph: which nodes they reach, and bits that they carry along."""

from __future__ import annotations

import collections
import functools
import operator
from typing import TYPE_CHECKING, Dict, FrozenSet, List, Mapping, OrderedDict, Sequence, Set, Tuple

from workloads.lifted.graph.control_flow import MERGES
from workloads.lifted.graph.stacks import PUSHES, pops_of_pushes, reversed_edges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from workloads.lifted.graph.graph import Use
    from workloads.lifted.graph.tensor_names import TensorId

#: Neighbours of a node: by data edges, and by control edges; of the latter, equal lists are one object.
Neighbours = Tuple[List[str], List[str]]
#: Sets of reached nodes that have so many nodes are kept, and so many of them.
LARGE_ANSWER = 1000
MOST_ANSWERS = 32


class Edges:
    """Edges of one graph, both ways.

    Args:
      types: {node: op type}.
      inputs: {node: its data inputs}.
      users: {node: uses of its outputs}.
      controls: {node: its control inputs}; of equal values, the same list.
      after: {node: those with a control input from it}; of equal values, the same list.
    """

    def __init__(
        self,
        types: Mapping[str, str],
        inputs: Mapping[str, Sequence[TensorId]],
        users: Mapping[str, Sequence[Use]],
        controls: Mapping[str, List[str]],
        after: Mapping[str, List[str]],
    ) -> None:
        self._types, self._inputs, self._users = types, inputs, users
        self._controls, self._after = controls, after
        self._neighbours: Dict[Tuple[bool, bool], Dict[str, Neighbours]] = {}
        self._answers: OrderedDict[Tuple[bool, bool, FrozenSet[str]], Set[str]] = collections.OrderedDict()

    def reached(self, names: Iterable[str], users: bool, controls: bool, stop: Collection[str] = ()) -> Set[str]:
        """Finds the nodes that edges lead to from some nodes.

        Large answers are kept: many questions about a graph are the same.

        Args:
          names: nodes to start from.
          users: whether to go to the users of a node, or else to its producers.
          controls: whether control edges are followed too.
          stop: nodes whose own edges are not followed.

        Returns:
          Their names, those of `names` included.
        """
        if stop:
            return _reached(self.neighbours(users, controls), names, stop)
        question = (users, controls, frozenset(names))
        if question not in self._answers:
            found = _reached(self.neighbours(users, controls), question[-1])
            if len(found) < LARGE_ANSWER:
                return found
            self._answers[question] = found
            if len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return set(self._answers[question])

    def flow(
        self, ordered: List[str], own: Mapping[str, int], users: bool, controls: bool, stop: Collection[str]
    ) -> Dict[str, int]:
        """Propagates bit sets along the edges to a fixed point; see `Graph.flow`.

        Args:
          ordered: nodes, in topological order.
          own: {node: bits that start there}.
          users: whether bits go from users to producers.
          controls: whether control edges carry bits too.
          stop: nodes that nothing arrives at.

        Returns:
          {node: the bits that reach it}.
        """
        edges = self.neighbours(users, controls)
        arriving = dict.fromkeys(ordered, 0)
        leaving = {name: own.get(name, 0) for name in ordered}
        passed = [name for name in (reversed(ordered) if users else ordered) if name not in stop]
        changed = True
        while changed:
            changed, brought = False, {}
            for name in passed:
                mask = before = arriving[name]
                by_data, by_control = edges[name]
                for neighbour in by_data:
                    mask |= leaving.get(neighbour, 0)
                if by_control:
                    if id(by_control) not in brought:  # in topological order, all of them have been passed
                        brought[id(by_control)] = functools.reduce(
                            operator.or_, (leaving.get(neighbour, 0) for neighbour in by_control), 0
                        )
                    mask |= brought[id(by_control)]
                if mask != before:
                    arriving[name] = mask
                    leaving[name] |= mask
                    # Within one pass only a loop's back edge, or a stack, can bring news to a node passed already.
                    changed = changed or self._types[name] in MERGES + PUSHES or "NextIteration" in self._types[name]
        return arriving

    def neighbours(self, users: bool, controls: bool) -> Dict[str, Neighbours]:
        """Returns {node: its users, or else its producers; by control edges too if `controls`}; keeps them.

        What a loop's gradient pops from a stack comes from what the loop pushes there.
        """
        if (users, controls) not in self._neighbours:
            more = (self._after if users else self._controls) if controls else {}
            stacks = pops_of_pushes(self._types, self._inputs)
            if not users:
                stacks = reversed_edges(stacks)
            edges: Dict[str, Neighbours] = {}
            for name, inputs in self._inputs.items():
                found = [use.node for use in self._users.get(name, ())] if users else [tensor.node for tensor in inputs]
                edges[name] = (found + stacks[name] if name in stacks else found, more.get(name, []))
            self._neighbours[users, controls] = edges
        return self._neighbours[users, controls]


def _reached(edges: Mapping[str, Neighbours], names: Iterable[str], stop: Collection[str] = ()) -> Set[str]:
    """Returns the nodes that edges lead to from some nodes; see `Edges.reached`."""
    seen, followed = set(names), set()
    todo = list(seen)
    for name in todo:  # which grows
        if name in stop or name not in edges:
            continue
        by_data, by_control = edges[name]
        for neighbour in by_data:
            if neighbour not in seen:
                seen.add(neighbour)
                todo.append(neighbour)
        if by_control and id(by_control) not in followed:
            followed.add(id(by_control))
            new = [neighbour for neighbour in by_control if neighbour not in seen]
            seen.update(new)
            todo += new
    return seen
