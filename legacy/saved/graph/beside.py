"""Ops that a program fetched beside its train op, such as batch-norm updates, made part of the step."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.train_ops import find_train_ops
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.support.errors import InputError

v1 = tf.compat.v1

#: The collection of updates that a program has to run itself, mostly of batch-norm statistics.
UPDATE_OPS = "update_ops"


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
    result = v1.GraphDef()
    result.CopyFrom(graph.graph_def)
    made = []
    for target in dict.fromkeys(targets):
        group = result.node.add(name=target + "_and_beside", op="NoOp")
        group.input.extend("^" + name for name in dict.fromkeys([target, *names]))
        made.append(group.name)
    by_target = dict(zip(dict.fromkeys(targets), made))
    return Graph(result), [by_target[target] for target in targets]


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
    made: dict[str, str] = {}
    result = v1.GraphDef()
    for target in dict.fromkeys(target for target in targets if "+" in target):
        names = target.split("+")
        made[target] = names[0] + "_together"
        while made[target] in graph.nodes or made[target] in list(made.values())[:-1]:
            made[target] += "_"
        result.node.add(name=made[target], op="NoOp", input=["^" + name for name in dict.fromkeys(names)])
    if not made:
        return graph, list(targets)
    whole = v1.GraphDef()
    whole.CopyFrom(graph.graph_def)
    whole.node.extend(result.node)
    return Graph(whole), [made.get(target, target) for target in targets]


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
      Members of the collection of update ops; assignments that average a trainable variable of the step; and those that
      move another variable towards a value computed from data, as batch normalization written by hand does.
    """
    members = graph.ancestors(targets)
    updates = [parse_tensor_name(name).node for name in collections.get(UPDATE_OPS, [])]
    updates = [name for name in dict.fromkeys(updates) if name in graph.nodes and name not in members]
    weights = set(trainable) & members
    variables = {name for name, node in graph.nodes.items() if node.op in op_types.VARIABLES}
    others = [name for name in graph.nodes if name not in members]
    averages = [name for name in others if _averages_weight(graph, name, weights, variables)]
    changed = {graph.inputs(name)[0].node for name in members if graph.type(name).startswith("Assign")}
    moved = [name for name in others if is_moved_by_data(graph, name, trainable, variables)]
    moved = [name for name in moved if graph.inputs(name)[0].node not in changed]  # no other tower's updates run
    found = {
        "update ops": updates,
        "moving averages": [name for name in averages if name not in updates],
        "updates of statistics": [name for name in moved if name not in updates],
    }
    return {what: names for what, names in found.items() if names}


def _averages_weight(graph: Graph, name: str, weights: Collection[str], variables: set[str]) -> bool:
    """Returns whether a node moves a variable towards one weight: it takes away a part of their difference."""
    read = _read_by_change(graph, name, variables)
    if not read or graph.inputs(name)[0].node in weights or _has_source(graph, read):
        return False
    return graph.inputs(name)[0].node in read & variables and len(read & set(weights)) == 1


def is_moved_by_data(graph: Graph, name: str, trainable: Collection[str], variables: set[str]) -> bool:
    """Tells whether a node moves a variable that is not trained towards what it computes from data.

    Args:
      graph: the whole graph.
      name: of the node.
      trainable: names of the trainable variables.
      variables: names of all variables.

    Returns:
      Whether it does.
    """
    read = _read_by_change(graph, name, variables)
    moved = graph.inputs(name)[0].node if read else ""
    return moved in read & variables and moved not in trainable and _has_source(graph, read)


def _read_by_change(graph: Graph, name: str, variables: set[str]) -> set[str]:
    """Returns the nodes that the change of a variable is computed from, up to variables; none for other nodes."""
    if not graph.type(name).startswith(("AssignSub", "AssignAdd")) or len(graph.inputs(name)) < 2:
        return set()
    return graph.ancestors([graph.inputs(name)[1].node], stop=variables, controls=False)


def _has_source(graph: Graph, names: Collection[str]) -> bool:
    return any(op_types.is_source(graph.type(name)) for name in names)
