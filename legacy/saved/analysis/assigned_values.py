"""Reads of a variable that the step has just assigned: they are given the assigned value itself.

A program that keeps a recurrent state in variables assigns it at the end of the forward pass. The gradients, made
behind the assignment, use the variable again. In 1.x such a read copies nothing, so that it sees the new value. So do
the gradients of spectral normalization, which assigns the vector of its power iteration in each tower's forward pass.
A variable of zeros that each step assigns, adds rows to, and reads, as forward warping does, holds no state at all.
No op that changes a variable has a derivative: what is assigned gets no gradient by the read.
An embedding whose row of the padding is set to zeros before it is looked up is trained all the same: the lookups are
of its value with that row, and the row is set before the update.
The gradients of a generator that wait for the discriminator's train op use the discriminator's weights behind their
update. The activations are those of the old weights; the value after the update is computed from its formula.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.order.equal_rows import set_equal_rows, set_rows_at_last
from legacy.saved.analysis.values.changed_values import ChangedValues, is_computable
from legacy.saved.analysis.values.rule_values import has_formula
from legacy.saved.graph import op_types
from legacy.saved.graph.cut.cone import leading_to
from legacy.saved.graph.differentiation import differentiated
from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.tensors.gradient_names import gradient_nodes, in_gradient_graphs
from workloads.support.wording import FEW, listed

v1 = tf.compat.v1

#: {read of rows by a handle: the op that takes them of a value}.
_LOOKUPS = {"ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd"}


class AssignedRead(NamedTuple):
    """A read of a variable behind an assignment in the step.

    Attributes:
      node: the node that reads.
      variable: name of the variable.
      changes: the assignment, and the changes of the variable between it and the read, in their order.
      by_rule: whether the variable is a weight, and its update the only change.
    """

    node: str
    variable: str
    changes: tuple[str, ...]
    by_rule: bool = False


def find_assigned_reads(context: Context, targets: Iterable[str]) -> list[AssignedRead]:
    """Finds the reads, by losses and gradients, of a variable that the graph orders behind an assignment.

    Where another tower changes the variable too, without an order, the read sees the assignment that leads to it.

    Args:
      context: of the cut graph.
      targets: the train ops.

    Returns:
      The reads. Reads in loops or branches, and those that no path orders, are none; nor are reads of weights, but of
      those whose rows each tower sets to the same constants, and of those that one update rule changes.
    """
    graph, state = context.graph, context.state
    members = graph.ancestors(targets)
    changes = _changes_by_variable(context, members)
    if not changes:
        return []
    losses = set(differentiated(graph, members))
    computed = graph.ancestors(in_gradient_graphs(members) | losses, controls=False) - graph.frames() - graph.branches()
    bit = {name: 1 << i for i, name in enumerate(dict.fromkeys(sum(changes.values(), [])))}
    run = members | graph.ancestors(losses)  # no gradient may need a loss itself
    before = graph.flow(graph.order(run), bit)
    found = []
    for node in (name for name in graph.nodes if name in computed and name in run):
        if graph.type(node) != "VariableShape" and node not in state.writes:
            for variable in (name for name in state.reads.get(node, ()) if name in changes):
                done = [change for change in changes[variable] if before[node] & bit[change]]
                since = _since_assignment(context, done, before, bit)
                by_rule = bool(since) and since[0] in state.rules
                found += [AssignedRead(node, variable, tuple(since), by_rule)] if since else []
    return found


def _changes_by_variable(context: Context, members: set[str]) -> dict[str, list[str]]:
    """{variable that is assigned outside of loops and branches: its changes}.

    One that an update rule trains counts only if all its other changes set the same rows to the same constants, or if
    that rule is its only change.
    """
    graph, state = context.graph, context.state
    found = collections.defaultdict(list)
    for name, written in state.writes.items():
        for variable in written if name in members and name not in state.rules else ():
            found[variable].append(name)
    trained = {variable for rule in state.rules for variable in state.writes[rule]}
    conditional = graph.frames() | graph.branches()
    plain = {name for name in state.writes if graph.type(name) in op_types.SETS} - conditional
    assigned = {
        variable: names
        for variable, names in found.items()
        if (set_equal_rows(graph, context.imported, names) if variable in trained else plain & set(names))
    }
    return {**assigned, **_changes_by_rules(context, members)}


def _changes_by_rules(context: Context, members: set[str]) -> dict[str, list[str]]:
    """{weight: its update op} of the weights whose only change in the step follows from a known formula."""
    graph, state = context.graph, context.state
    changes = collections.defaultdict(list)
    for name, written in state.writes.items():
        for variable in written if name in members else ():
            changes[variable].append(name)
    outside = state.rules - graph.frames() - graph.branches()
    return {
        variable: names
        for variable, names in changes.items()
        if len(names) == 1 and names[0] in outside and has_formula(graph, names[0])
        if state.writes[names[0]][0] == variable
    }


def _since_assignment(context: Context, done: list[str], before: dict[str, int], bit: dict[str, int]) -> list[str]:
    """The last assignment and what follows it, of the changes that lead to a read; [] if the value is not known."""
    graph = context.graph
    done = sorted(done, key=lambda change: sum(bool(before[change] & bit[other]) for other in done))
    if done and set_equal_rows(graph, context.imported, done):
        return done[-1:]
    if not all(before[later] & bit[earlier] for earlier, later in zip(done, done[1:])):
        return []  # two of them have no order
    starts = [i for i, name in enumerate(done) if graph.type(name) in op_types.SETS or name in context.state.rules]
    last = max(starts, default=len(done))
    since, conditional = done[last:], graph.frames() | graph.branches()
    known = all(is_computable(graph, context.imported, name) and name not in conditional for name in since)
    return since if known else []


def with_assigned_values(context: Context, reads: Iterable[AssignedRead], ends: Iterable[str]) -> Graph:
    """Returns what leads to some nodes, with the assigned values in place of the variables in some reads.

    Args:
      context: of the cut graph.
      reads: the reads.
      ends: the train ops, and what they minimize.

    Returns:
      The graph. A variable that holds a state keeps its changes; one whose every use comes behind an assignment loses
      those that led to reads only.
    """
    values = ChangedValues(context.graph)
    by_node: dict[str, dict[str, TensorId]] = collections.defaultdict(dict)
    behind: dict[str, list[str]] = collections.defaultdict(list)
    stateless, stopped = _stateless(context, reads), _without_gradient(context, reads)
    for read in reads:
        value = values.without_gradient if read in stopped else values.after
        by_node[read.node][read.variable] = value(read.changes)
        behind[read.node] += read.changes if read.variable not in stateless else ()
    needless = {change for read in reads if read.variable in stateless for change in read.changes}
    result = GraphCopy(context.graph)
    for node in list(result.nodes.values()):
        if node.op != "NoOp" and not needless.isdisjoint(context.graph.controls(node.name)):  # NoOps run updates
            _wait_for_others(context.graph, node, needless)
        if node.name in by_node:
            _give_values(context, result, node, by_node[node.name])
            node.input.extend(f"^{change}" for change in dict.fromkeys(behind[node.name]))
    result.add_missing(values.made)
    set_rows_at_last(result, context.state.writes, values.of_rows)
    for change, node_before in values.of_rules.items():
        result.nodes[change].input.append(f"^{node_before}")
    return leading_to(result.graph(), ends)


def _wait_for_others(graph: Graph, node: tf.compat.v1.NodeDef, needless: set[str]) -> None:
    """Makes a node wait for what some changes waited for, and not for the changes themselves."""
    todo, waits = list(graph.controls(node.name)), []
    while todo:
        name = todo.pop(0)
        if name in needless:
            todo += graph.controls(name)
        else:
            waits.append(name)
    del node.input[len(graph.inputs(node.name)) :]
    node.input.extend(f"^{name}" for name in dict.fromkeys(waits))


def _without_gradient(context: Context, reads: Iterable[AssignedRead]) -> set[AssignedRead]:
    """The reads of a forward pass whose values are computed from weights, which no gradient reaches by an assignment.

    What is read of a weight itself is what its gradient is taken of, whatever rows of it the step has set, and so is
    one that is assigned by its gradient.
    """
    graph, state = context.graph, context.state
    trained = {variable for rule in state.rules for variable in state.writes[rule]}
    weights = [node for node, names in state.reads.items() if trained & set(names)]
    backward = gradient_nodes(graph)
    behind = graph.descendants(weights, controls=False) - graph.descendants(backward, controls=False)
    forward = {read.node for read in reads} - backward
    return {
        read
        for read in reads
        if read.node in forward and read.variable not in trained and not behind.isdisjoint(read.changes)
    }


def _stateless(context: Context, reads: Iterable[AssignedRead]) -> set[str]:
    """The variables whose every use in the step is a read behind an assignment, or a change on the way to one."""
    given = {(read.node, read.variable) for read in reads} | {
        (change, read.variable) for read in reads for change in read.changes
    }
    state = context.state
    uses = [(node, name) for uses in (state.reads, state.writes) for node, names in uses.items() for name in names]
    found = {read.variable for read in reads if not read.by_rule}
    return found - {name for node, name in uses if (node, name) not in given}


def _give_values(context: Context, result: GraphCopy, node: tf.compat.v1.NodeDef, values: dict[str, TensorId]) -> None:
    """Replaces the variables among a node's inputs by values; a node that reads by a handle takes them of one."""
    for position, tensor in enumerate(context.graph.inputs(node.name)):
        value = values.get(context.state.aliases.get(tensor, ""))
        if value is not None:
            node.input[position] = input_text(value)
    if node.op == "ReadVariableOp":
        dtype = node.attr["dtype"].type
        node.op = "Identity"
        node.attr.clear()
        node.attr["T"].type = dtype
    elif node.op in _LOOKUPS:
        _look_up_in_value(result, node)


def _look_up_in_value(result: GraphCopy, node: tf.compat.v1.NodeDef) -> None:
    """Makes a lookup by a handle one in a value, which is its first input already."""
    types = {"Tparams": node.attr["dtype"].type, "Tindices": node.attr["Tindices"].type}
    batch_dims = node.attr["batch_dims"].i
    node.op = _LOOKUPS[node.op]
    node.attr.clear()
    for attribute, value in types.items():
        node.attr[attribute].type = value
    if node.op == "GatherV2":
        axis = result.add_constant(f"{node.name}/axis", np.array(batch_dims, np.int32), node.device)
        node.input.insert(2, axis)
        node.attr["Taxis"].type = tf.int32.as_datatype_enum
        node.attr["batch_dims"].i = batch_dims


def notes_on_reads(reads: Iterable[AssignedRead]) -> list[str]:
    """Returns a sentence on the reads of variables that were assigned, and one on those of updated weights, if any.

    >>> notes_on_reads([AssignedRead("gradients/mul_grad/Mul", "state", ("assign",))])
    ['gradients/mul_grad/Mul uses state after the step has assigned it: it takes the new value']
    """
    found = list(reads)
    kinds = {"assigned": [r for r in found if not r.by_rule], "updated": [r for r in found if r.by_rule]}
    return [_note(some, how) for how, some in kinds.items() if some]


def _note(reads: list[AssignedRead], how: str) -> str:
    subject = listed([read.node for read in reads], FEW)
    variables = listed(list(dict.fromkeys(read.variable for read in reads)), FEW)
    if len(reads) == 1:
        return f"{subject} uses {variables} after the step has {how} it: it takes the new value"
    return f"{subject} use {variables} after the step has {how} them: they take the new values"
