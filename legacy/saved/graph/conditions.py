"""The `cond` branches that nodes run in: which of them exclude each other, and what runs after a branch in any case."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from workloads.lifted.graph import MERGES, SWITCHES, Graph, TensorId


class Branch(NamedTuple):
    """A branch of a `cond`.

    Attributes:
      predicate: of the `cond`, as it is before it enters any branch.
      value: 1 for the branch that runs where the predicate is true, else 0.
    """

    predicate: TensorId
    value: int

    @property
    def opposite(self) -> Branch:
        """The other branch of the same `cond`."""
        return Branch(self.predicate, 1 - self.value)


def enclosing_conditions(graph: Graph, name: str) -> list[set[Branch]]:
    """Returns the branches that a node is in, the outermost first.

    Each set has one branch, but where data enter by several predicates of which none is in a branch of the other.

    >>> from tensorflow.core.framework import graph_pb2
    >>> graph_def = graph_pb2.GraphDef()
    >>> _ = graph_def.node.add(name="p", op="Placeholder"), graph_def.node.add(name="x", op="Const")
    >>> _ = graph_def.node.add(name="switch", op="Switch", input=["x", "p"])
    >>> _ = graph_def.node.add(name="negative", op="Neg", input=["switch:1"])
    >>> enclosing_conditions(Graph(graph_def), "negative")
    [{Branch(predicate=TensorId(node='p', output=0), value=1)}]
    """
    own, depths = _branches_of_nodes(graph)[name], _depths(graph)
    levels = sorted({depths[branch.predicate] for branch in own})
    return [{branch for branch in own if depths[branch.predicate] == level} for level in levels]


def predicates_of(graph: Graph, name: str) -> frozenset[Branch]:
    """Returns all branches that a node is in; a Switch that lets a value into one branch only is in that one, too."""
    branches = _branches_of_nodes(graph)[name]
    used = {use.output for use in graph.users(name)} if enters_a_branch(graph, name) else set()
    return branches | {_entered(graph, TensorId(name, *used))} if len(used) == 1 else branches


def exclude_each_other(graph: Graph, first: str, second: str) -> bool:
    """Returns whether at most one of two nodes runs.

    Args:
      graph: the subgraph that a step runs.
      first: a node.
      second: another one.

    Returns:
      Whether they are in opposite branches of one `cond`.
    """
    own = predicates_of(graph, first)
    return bool(own) and any(branch.opposite in own for branch in predicates_of(graph, second))


@functools.lru_cache(maxsize=2)
def _branches_of_nodes(graph: Graph) -> Mapping[str, frozenset[Branch]]:
    """Returns {node: the branches that it is in}.

    A node is in every branch that one of its inputs is in. Behind the Merge of a `cond`, whose inputs come from both
    branches, neither is left; nor where one input is a constant, which `tf.gradients` puts outside of its branch.
    """
    found: dict[str, frozenset[Branch]] = {}
    depths: dict[TensorId, int] = {}
    of_controls: dict[int, frozenset[Branch]] = {}  # many nodes share one list of control inputs
    for name in graph.order(graph.nodes):
        controls = graph.controls(name)
        if id(controls) not in of_controls:
            of_controls[id(controls)] = _union(found.get(control) for control in controls)
        inputs = graph.inputs(name)
        of_inputs = [_of_input(graph, tensor, found) for tensor in inputs]
        branches = _union((of_controls[id(controls)], *of_inputs))
        if graph.type(name) in MERGES and not any("NextIteration" in graph.type(tensor.node) for tensor in inputs):
            branches = _left_behind(branches, of_inputs, depths)
        elif enters_a_branch(graph, name):
            predicate = _entered(graph, TensorId(name, 0)).predicate
            depths[predicate] = max(len(branches), depths.get(predicate, 0))
        found[name] = branches
    return found


def _of_input(graph: Graph, tensor: TensorId, found: Mapping[str, frozenset[Branch]]) -> frozenset[Branch]:
    """Returns the branches that an input comes from; a loop's back edge, whose node comes later, has none yet."""
    entered = {_entered(graph, tensor)} if enters_a_branch(graph, tensor.node) else set()
    return found.get(tensor.node, frozenset()) | entered


def _left_behind(
    branches: frozenset[Branch], of_inputs: Sequence[frozenset[Branch]], depths: Mapping[TensorId, int]
) -> frozenset[Branch]:
    """Returns the branches that a Merge is in.

    Args:
      branches: those of its inputs.
      of_inputs: those of each input.
      depths: {predicate: number of branches that its `cond` is in}.
    """
    left = frozenset(branch for branch in branches if branch.opposite not in branches)
    if left != branches or not branches:
        return left
    depth = max(depths[branch.predicate] for branch in branches)
    innermost = {branch for branch in branches if depths[branch.predicate] == depth}
    return branches if all(innermost <= own for own in of_inputs) else branches - innermost


def _union(sets: Iterable[frozenset[Branch] | None]) -> frozenset[Branch]:
    """Returns the union of the sets; a node that comes later has none yet."""
    return frozenset().union(*(entries for entries in sets if entries))


def enters_a_branch(graph: Graph, name: str) -> bool:
    """Whether a node is the Switch of a `cond`, and not of a loop."""
    inputs = graph.inputs(name)
    return graph.type(name) in SWITCHES and len(inputs) > 1 and graph.type(inputs[1].node) != "LoopCond"


def _entered(graph: Graph, output: TensorId) -> Branch:
    """The branch that an output of a Switch leads into."""
    return Branch(graph.before_branches(graph.inputs(output.node)[1]), output.output)


@functools.lru_cache(maxsize=2)
def _depths(graph: Graph) -> Mapping[TensorId, int]:
    """Returns {predicate: number of branches that its `cond` is in}."""
    depths: dict[TensorId, int] = {}
    for name, branches in _branches_of_nodes(graph).items():
        if enters_a_branch(graph, name):
            predicate = _entered(graph, TensorId(name, 0)).predicate
            depths[predicate] = max(len(branches), depths.get(predicate, 0))
    return depths


def after_the_branch(graph: Graph, name: str) -> str | None:
    """Returns the nearest Merge behind a node of a branch that runs whichever branches are taken; None without one.

    A control input from a node of a branch that is not taken would keep whatever waits for it from running. So would
    the Merge of a `cond` inside of that branch.
    """
    branches, frames, seen, level = _branches_of_nodes(graph), graph.frames(), {name}, [name]
    while level:
        behind = []
        for node in level:
            for user in [use.node for use in graph.users(node)] + graph.after(node):
                if graph.type(user) in MERGES and not branches[user] and user not in frames:
                    return user
                if branches[user] and user not in seen:
                    seen.add(user)
                    behind.append(user)
        level = behind
    return None
