"""Ops that a program fetched beside its train op, such as batch-norm updates, made part of the step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import WRITERS, variable_of
from legacy.saved.runs.train_ops import find_train_ops, run_by_others
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.support.errors import InputError

v1 = tf.compat.v1

#: The collection of updates that a program has to run itself, mostly of batch-norm statistics.
UPDATE_OPS = "update_ops"
#: What `never_run` calls assignments that compute a weight from itself.
FROM_THEMSELVES = "assignments of weights from themselves, such as clipping,"
#: What it calls assignments of constants to rows of a weight, as to the padding's.
ROWS_TO_CONSTANTS = "assignments of constants to rows of weights"
#: Ops whose result is their input.
_COPIES = ("Identity", "ReadVariableOp", "RefIdentity")


def run_beside(graph: Graph, targets: Sequence[str], beside: Sequence[str]) -> tuple[Graph, list[str]]:
    """Makes other ops run with the train ops.

    Args:
      graph: the whole graph.
      targets: train ops.
      beside: names of ops, or of their outputs, that each step ran too.

    Returns:
      The graph with an op for each train op that runs all, and the names of these.

    Raises:
      InputError: a name is not in the graph.

    >>> graph_def = v1.GraphDef()
    >>> for name in ("train", "bn/update"):
    ...     _ = graph_def.node.add(name=name, op="NoOp")
    >>> graph, targets = run_beside(Graph(graph_def), ["train"], ["bn/update:0"])
    >>> targets, graph.controls(targets[0])
    (['train_and_beside'], ['train', 'bn/update'])
    """
    if not beside:
        return graph, list(targets)
    names = [parse_tensor_name(name).node for name in beside]
    for name in names:
        if name not in graph.nodes:
            offer = ", ".join(list(find_train_ops(graph))[:8]) or "none"
            raise InputError(f"--with: got {name!r}, no such operation in the graph; ends of updates: {offer}")
    result, made = GraphCopy(graph), {}
    for target in dict.fromkeys(targets):
        made[target] = target + "_and_beside"
        result.add(made[target], "NoOp", ["^" + name for name in dict.fromkeys([target, *names])])
    return result.graph(), [made[target] for target in targets]


def join_runs(graph: Graph, targets: Sequence[str]) -> tuple[Graph, list[str]]:
    """Makes one op of the train ops that were fetched in one run.

    Args:
      graph: the whole graph.
      targets: train ops; those of one run are joined by "+".

    Returns:
      The graph with an op for each run of several, and the names of the runs' ops.

    >>> graph_def = v1.GraphDef()
    >>> for name in ("add", "add_1"):
    ...     _ = graph_def.node.add(name=name, op="NoOp")
    >>> graph, targets = join_runs(Graph(graph_def), ["add+add_1"])
    >>> targets, graph.controls(targets[0])
    (['add_together'], ['add', 'add_1'])
    """
    several = dict.fromkeys(target for target in targets if "+" in target)
    if not several:
        return graph, list(targets)
    result, made = GraphCopy(graph), {}
    for target in several:
        names = target.split("+")
        made[target] = names[0] + "_together"
        while made[target] in result.nodes:
            made[target] += "_"
        result.add(made[target], "NoOp", ["^" + name for name in dict.fromkeys(names)])
    return result.graph(), [made.get(target, target) for target in targets]


def with_assignments(collections: dict[str, list[str]], before: Graph, after: Graph) -> dict[str, list[str]]:
    """Returns collections whose update ops are assignments, where they were ends of branches that are decided.

    Args:
      collections: {collection: names of nodes}, as saved.
      before: the graph as saved.
      after: the graph without the branches that settings rule out; ends of the others are left out there, too.

    Returns:
      The collections, a new dictionary.
    """
    updates: list[str] = []
    for name in collections.get(UPDATE_OPS, []):
        node = parse_tensor_name(name).node
        if node in after.nodes or node not in before.nodes:
            updates.append(name)
            continue
        taken = [known for known in before.ancestors([node], after.nodes, controls=False) if known in after.nodes]
        updates += sorted(known for known in taken if after.type(known).startswith("Assign"))
    return {**collections, UPDATE_OPS: updates}


def never_run(
    graph: Graph, targets: Collection[str], collections: dict[str, list[str]], trainable: Collection[str]
) -> dict[str, list[str]]:
    """Returns updates that no train op runs: {"update ops", "moving averages", ...: names}; empty lists are left out.

    Args:
      graph: the whole graph.
      targets: train ops.
      collections: {collection: names of nodes}, as saved.
      trainable: names of the trainable variables.

    Returns:
      Members of the collection of update ops; assignments that average a trainable variable of the step, and have its
      shape (an average of its penalty is one of a loss), unless another train op runs them; those that move another
      variable towards a value computed from data, as batch normalization written by hand does; those that compute a
      weight that the step trains from itself alone, as the clipping of a critic's weights does; and those that set rows
      of such a weight to constants, as the padding's to zero.
    """
    members = graph.ancestors(targets)
    updates = [parse_tensor_name(name).node for name in collections.get(UPDATE_OPS, [])]
    updates = [name for name in dict.fromkeys(updates) if name in graph.nodes and name not in members]
    weights = set(trainable) & members
    variables = {name for name, node in graph.nodes.items() if node.op in op_types.VARIABLES}
    changed = {graph.inputs(name)[0].node for name in members if graph.type(name).startswith("Assign")}
    outside = [name for name in graph.nodes if name not in members and graph.inputs(name)]
    still = [name for name in outside if graph.inputs(name)[0].node not in changed]  # no tower's update runs
    moves = {name: _move(graph, name, variables) for name in still}
    averages = [name for name, move in moves.items() if move is not None and move.averages_one_of(weights, graph)]
    moved = [name for name, move in moves.items() if move is not None and move.is_of_data(trainable)]
    by_updates = graph.ancestors(updates) if updates else set()
    elsewhere = run_by_others(graph, members, trainable) if averages else set()
    trained = weights & {variable_of(graph, name) for name in members if graph.type(name).startswith(WRITERS)}
    clips = [name for name in graph.nodes if name not in members and assigns_from_itself(graph, name, trained)]
    set_by_step = {variable_of(graph, name) for name in members if graph.type(name) in op_types.SETS_SLICES}
    idle = [name for name in graph.nodes if name not in members and variable_of(graph, name) not in set_by_step]
    rows = [name for name in idle if _sets_rows_to_constants(graph, name, trained)]
    found = {
        "update ops": updates,
        "moving averages": [name for name in averages if name not in by_updates | elsewhere],
        "updates of statistics": [name for name in moved if name not in by_updates],
        FROM_THEMSELVES: [name for name in clips if name not in by_updates],
        ROWS_TO_CONSTANTS: [name for name in rows if name not in by_updates],
    }
    return {what: names for what, names in found.items() if names}


def assigns_from_itself(graph: Graph, name: str, weights: Collection[str]) -> bool:
    """Returns whether a node assigns one of some weights a value that is computed from it and from no other variable.

    A copy of the weight is no such value, and neither is one that is fed or restored.

    Args:
      graph: the whole graph.
      name: of the node.
      weights: names of variables.

    Returns:
      The answer.
    """
    if graph.type(name) not in op_types.SETS or graph.inputs(name)[0].node not in weights:
        return False
    weight, value = (tensor.node for tensor in graph.inputs(name)[:2])
    read = graph.ancestors([value], stop={weight}, controls=False)
    others = {node for node in read - {weight} if graph.type(node) in op_types.VARIABLES}
    computed = {node for node in read - {weight} if graph.inputs(node) and graph.type(node) not in _COPIES}
    return weight in read and not others and bool(computed)


def _sets_rows_to_constants(graph: Graph, name: str, weights: Collection[str]) -> bool:
    """Returns whether a node sets rows of one of some weights, both the rows and their values being constants."""
    if graph.type(name) not in op_types.SETS_SLICES or variable_of(graph, name) not in weights:
        return False
    taken = [tensor.node for tensor in graph.inputs(name)[1:]]
    types = {graph.type(node) for node in graph.ancestors(taken, controls=False)}
    changes = types.intersection(op_types.VARIABLES) or any(map(op_types.is_source, types))
    return not (changes or any(map(op_types.is_random, types)))


class _Move(NamedTuple):
    """A change that moves a variable towards another value: it adds or subtracts a part of their difference.

    Attributes:
      variable: its name.
      read: nodes that the change is computed from, up to variables; the variable is one of them.
      from_data: whether the change is computed from a source of data.
    """

    variable: str
    read: set[str]
    from_data: bool

    def averages_one_of(self, weights: set[str], graph: Graph) -> bool:
        """Returns whether the other value is one of these weights, or is computed from it alone and has its shape."""
        found = self.read & weights
        if self.variable in weights or self.from_data or len(found) != 1:
            return False
        shapes = [graph.nodes[name].attr["shape"].shape for name in (self.variable, *found)]
        return shapes[0] == shapes[1]

    def is_of_data(self, trainable: Collection[str]) -> bool:
        """Returns whether the other value is computed from data, and the variable is not trained."""
        return self.from_data and self.variable not in trainable


def is_moved_by_data(graph: Graph, name: str, trainable: Collection[str], variables: set[str]) -> bool:
    """Tells whether a node moves a variable that is not trained towards a value computed from data.

    Args:
      graph: the whole graph.
      name: of the node.
      trainable: names of the trainable variables.
      variables: names of all variables.

    Returns:
      Whether it does.
    """
    move = _move(graph, name, variables)
    return move is not None and move.is_of_data(trainable)


def _move(graph: Graph, name: str, variables: set[str]) -> _Move | None:
    """Returns the change that a node makes, if it moves a variable; None for any other node.

    An assignment moves a variable if what it assigns contains the variable's value times a number, its decay.
    """
    kind = graph.type(name)
    if not kind.startswith(("AssignSub", "AssignAdd", *op_types.SETS)) or len(graph.inputs(name)) < 2:
        return None
    variable, change = (tensor.node for tensor in graph.inputs(name)[:2])
    read = graph.ancestors([change], stop=variables, controls=False)
    if variable not in read & variables or (kind in op_types.SETS and not _decays(graph, variable, read)):
        return None
    return _Move(variable, read, any(op_types.is_source(graph.type(node)) for node in read))


def _decays(graph: Graph, variable: str, read: Collection[str]) -> bool:
    """Returns whether one of some nodes multiplies a variable's value by something that does not depend on it."""
    for name in read:
        if graph.type(name) == "Mul":
            factors = [graph.before_branches(tensor).node for tensor in graph.inputs(name)]
            values = [graph.inputs(n)[0].node if graph.type(n) == "ReadVariableOp" else n for n in factors]
            if values.count(variable) == 1:
                return True
    return False
