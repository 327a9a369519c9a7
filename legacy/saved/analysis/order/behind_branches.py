"""Control dependencies that come from behind a `cond`, since a node of a branch that is not taken lets nothing run."""

from __future__ import annotations

import collections
from collections.abc import Collection, Sequence

from legacy.saved.graph.conditions import after_the_branch, enclosing_conditions, predicates_of
from workloads.lifted.graph import MERGES, Graph
from workloads.lifted.plan import ControlDependency


def order_behind_branches(
    graph: Graph, members: set[str], dependencies: Sequence[ControlDependency]
) -> tuple[list[str], list[ControlDependency]]:
    """Orders a step by control dependencies that hold too where branches are not taken, as far as they can.

    Two branches that wait for each other's parts cannot wait for each other's ends: only dependencies that would close
    such a cycle come from the branches' own nodes. From there, others would keep what waits for them from running.

    Args:
      graph: the cut graph.
      members: nodes that the step runs.
      dependencies: the control dependencies, between the nodes that read and update variables.

    Returns:
      The nodes in order, and the dependencies.

    Raises:
      ValueError: the dependencies close a cycle, whether they come from behind the branches or not.
    """
    chosen = {one: _out_of_branch(graph, members, one) for one in dependencies}
    while True:
        behind = list(dict.fromkeys(chosen.values()))
        try:
            return graph.order(members, behind), behind
        except ValueError:
            cyclic = _between_cycles(graph, members, behind)
            back = [one for one, moved in chosen.items() if moved != one and cyclic.issuperset(moved)]
            if not back:
                raise
            chosen.update((one, one) for one in back)


def _out_of_branch(graph: Graph, members: set[str], dependency: ControlDependency) -> ControlDependency:
    """Returns a control dependency that holds too where a `cond` does not run its first node.

    It comes from behind the `cond`, unless its second node is in the same branch or leads there.
    """
    before, after = dependency
    in_branch = before in graph.branches() or enclosing_conditions(graph, before)  # also behind a `cond` inside of one
    if not in_branch or predicates_of(graph, before) & predicates_of(graph, after):
        return dependency
    behind = after_the_branch(graph, before)
    if behind is None or behind not in members or after in graph.ancestors([behind]):
        return dependency
    return ControlDependency(behind, after)


def _between_cycles(graph: Graph, members: set[str], further: Sequence[ControlDependency]) -> set[str]:
    """Returns the nodes on cycles that further edges close, and on the ways from one cycle to another."""
    before: dict[str, set[str]] = {name: _needed(graph, name) & members for name in members}
    for edge in further:
        before[edge.after].add(edge.before)
    after: dict[str, set[str]] = collections.defaultdict(set)
    for name, needed in before.items():
        for one in needed:
            after[one].add(name)
    return _with_any(after, _with_any(before, members))


def _needed(graph: Graph, name: str) -> set[str]:
    """Returns the nodes that a node waits for; a loop's back edges do not count."""
    inputs = [tensor.node for tensor in graph.inputs(name)]
    is_merge = graph.type(name) in MERGES
    return {one for one in inputs if not is_merge or "NextIteration" not in graph.type(one)} | set(graph.controls(name))


def _with_any(linked: dict[str, set[str]], names: Collection[str]) -> set[str]:
    """Returns what is left of nodes where those that are linked to none that is left are taken away, one by one."""
    left = set(names)
    users: dict[str, list[str]] = collections.defaultdict(list)
    count = {name: len(linked[name] & left) if name in linked else 0 for name in left}
    for name in left:
        for one in linked.get(name, ()):
            users[one].append(name)
    todo = [name for name in left if not count[name]]
    while todo:
        name = todo.pop()
        left.discard(name)
        for user in users[name]:
            count[user] -= 1
            if not count[user]:
                todo.append(user)
    return left
