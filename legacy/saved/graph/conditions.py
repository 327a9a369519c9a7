"""The `cond` branches that nodes run in: which of them exclude each other, and what runs after a branch in any case."""

from __future__ import annotations

from workloads.lifted.graph import MERGES, SWITCHES, Graph, TensorId


def entering_switches(graph: Graph, name: str) -> set[TensorId]:
    """Returns the outputs of Switch nodes by which data and control enter the branch that a node is in."""
    branches = graph.branches()
    found: set[TensorId] = set()
    seen, todo = {name}, [name]
    while todo:
        node = todo.pop()
        for before, output in graph.inputs(node) + [TensorId(control, 0) for control in graph.controls(node)]:
            if graph.type(before) in SWITCHES and len(graph.inputs(before)) > 1:
                found.add(TensorId(before, output))
            elif before in branches and before not in seen:
                seen.add(before)
                todo.append(before)
    return found


def enclosing_conditions(graph: Graph, name: str) -> list[set[tuple[TensorId, int]]]:
    """Returns the branches that a node is in, the outermost first: for each, {(predicate, the value it runs with)}.

    A branch that is entered by one `cond` has one predicate.

    >>> from tensorflow.core.framework import graph_pb2
    >>> graph_def = graph_pb2.GraphDef()
    >>> _ = graph_def.node.add(name="p", op="Placeholder"), graph_def.node.add(name="x", op="Const")
    >>> _ = graph_def.node.add(name="switch", op="Switch", input=["x", "p"])
    >>> _ = graph_def.node.add(name="negative", op="Neg", input=["switch:1"])
    >>> enclosing_conditions(Graph(graph_def), "negative")
    [{(TensorId(node='p', output=0), 1)}]
    """
    found: list[set[tuple[TensorId, int]]] = []
    seen: set[TensorId] = set()
    switches = entering_switches(graph, name) if name in graph.branches() else set()
    while switches - seen:
        seen |= switches
        found.insert(0, {(graph.before_branches(graph.inputs(switch)[1]), output) for switch, output in switches})
        switches = {outer for switch, _ in switches for outer in _switches_before(graph, switch)}
    return found


def _switches_before(graph: Graph, switch: str) -> set[TensorId]:
    """Returns the outputs of Switch nodes by which what a Switch takes enters the branch around it."""
    found: set[TensorId] = set()
    for tensor in graph.inputs(switch):
        if graph.type(tensor.node) in SWITCHES:
            found.add(tensor)
        elif tensor.node in graph.branches():
            found |= entering_switches(graph, tensor.node)
    return found


def predicates_of(graph: Graph, name: str) -> set[tuple[TensorId, int]]:
    """Returns {(predicate, its value)} under which a node runs, of all branches that it is in."""
    return set().union(*enclosing_conditions(graph, name))


def exclude_each_other(graph: Graph, first: str, second: str) -> bool:
    """Returns whether at most one of two nodes runs.

    Args:
      graph: the subgraph that a step runs.
      first: a node.
      second: another one.

    Returns:
      Whether they are in opposite branches of one `cond`.
    """
    branches = graph.branches()
    if first not in branches or second not in branches:
        return False
    own = predicates_of(graph, first)  # to ask for both is slow where one is in a large loop
    return bool(own) and any((predicate, 1 - value) in own for predicate, value in predicates_of(graph, second))


def after_the_branch(graph: Graph, name: str) -> str | None:
    """Returns the nearest Merge behind a node of a branch, which runs whichever branch is taken; None without one.

    A control input from a node of a branch that is not taken would keep whatever waits for it from running.
    """
    branches, frames, seen, level = graph.branches(), graph.frames(), {name}, [name]
    while level:
        behind = []
        for node in level:
            for user in [use.node for use in graph.users(node)] + graph.after(node):
                if graph.type(user) in MERGES and user not in branches and user not in frames:
                    return user
                if user in branches and user not in seen:
                    seen.add(user)
                    behind.append(user)
        level = behind
    return None
