"""The variables' values that a lift starts from: a checkpoint's, or what the graph's own initializers give."""

from __future__ import annotations

import re

import numpy as np
import tensorflow as tf

from legacy.saved.graph import cone, op_types
from legacy.towers.program import session_config
from workloads.lifted import checkpoint
from workloads.support.errors import InputError

v1 = tf.compat.v1
INITIALIZERS = ("Assign", "AssignVariableOp")
MOST_LISTED = 8


def from_checkpoint(path, plan, whole):
    """{name: array} of all that a checkpoint holds; what a plan needs besides (local variables) is initialized.

    Raises:
      InputError: variables are missing or have other shapes or types; told apart one by one.
    """
    stored = checkpoint.read(path)
    values, problems, missing = {}, [], []
    for variable in plan.variables:
        name = variable.name
        whole_name = re.sub(r"/part_\d+$", "", name)
        if whole_name != name and whole_name in stored:
            raise InputError(f"--checkpoint: {whole_name!r} is partitioned, and partitioned variables are not lifted")
        if name not in stored:
            missing.append(variable)
            continue
        value = np.asarray(stored[name])
        if variable.shape is not None and list(value.shape) != list(variable.shape):
            problems.append(f"{name}: {variable.shape} in the graph, {list(value.shape)} in it")
        elif value.dtype.name != variable.dtype:
            problems.append(f"{name}: {variable.dtype} in the graph, {value.dtype.name} in it")
        else:
            values[variable.name] = value
    kept = {v.name for v in missing if v.role in ("weight", "slot", "average")}
    problems += [f"{name}: not in it" for name in sorted(kept)]
    if problems:
        unused = sorted(set(stored) - {v.name for v in plan.variables})
        more = len(problems) - MOST_LISTED
        raise InputError(
            "--checkpoint: {!r} is not of this graph: {}{}{}".format(
                path,
                "; ".join(problems[:MOST_LISTED]),
                f"; and {more} more" if more > 0 else "",
                "; it has besides: " + ", ".join(unused[:MOST_LISTED]) if unused else "",
            )
        )
    values.update((name, value) for name, value in stored.items() if name not in values)
    if missing:
        values.update(initial([v.name for v in missing], whole))
    return values


def initial(names, whole):
    """{variable: array} from the graph's own initializers.

    Raises:
      InputError: a variable has none, or one that reads files or calls Python.
    """
    makers = {name: _initializer(whole, name) for name in names}
    targets = [maker for maker in makers.values() if maker]
    stop = set(targets)
    needed = whole.ancestors(targets) - stop
    for node in needed:
        kind = whole.type(node)
        if op_types.is_source(kind) or op_types.is_unsafe(kind) or not cone.known(kind):
            raise InputError(
                f"--checkpoint: the initial values depend on {node} ({kind}), which is not run; give a checkpoint"
            )
    cut = cone.cut(whole, targets)
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        tf.import_graph_def(cone.without_placement(cut.graph), name="")
        _run_until_all(session, [graph.get_operation_by_name(target) for target in targets])
        return {name: _read(session, graph, whole, name, maker) for name, maker in makers.items()}


def _initializer(whole, name):
    """The node that gives a variable its first value, or None."""
    for user, position, _ in whole.users(name):
        if position == 0 and whole.type(user) in INITIALIZERS and user.startswith(name):
            return user
    users = [user for user, position, _ in whole.users(name) if position == 0 and whole.type(user) in INITIALIZERS]
    return users[0] if users else None


def _run_until_all(session, operations):
    """Runs initializers until all have run: some need others' variables first."""
    while operations:
        left = []
        for operation in operations:
            try:
                session.run(operation)
            except tf.errors.FailedPreconditionError as error:
                left.append((operation, error))
        if len(left) == len(operations):
            raise InputError(f"--checkpoint: {left[0][0].name} cannot be initialized; give a checkpoint")
        operations = [operation for operation, _ in left]


def _read(session, graph, whole, name, maker):
    if maker is None:
        raise InputError(f"--checkpoint: variable {name!r} has no initializer in the graph; give a checkpoint")
    tensor = graph.get_tensor_by_name(name + ":0")
    if whole.type(name) == "VarHandleOp":
        with graph.as_default():
            tensor = tf.raw_ops.ReadVariableOp(resource=tensor, dtype=whole.nodes[name].attr["dtype"].type)
    return session.run(tensor)
