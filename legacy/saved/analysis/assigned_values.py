"""Reads of a variable that the step has just assigned: they are given the assigned value itself.

A program that keeps a recurrent state in variables assigns it at the end of the forward pass. The gradients, made
behind the assignment, use the variable again. In 1.x such a read copies nothing, so that it sees the new value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import tensorflow as tf

from legacy.saved.analysis import losses
from legacy.saved.analysis.context import Context
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.lifted.tensors.gradient_names import in_gradient_graphs
from workloads.support.wording import listed

v1 = tf.compat.v1

_ASSIGNS = ("Assign", "AssignVariableOp")
_OTHER_HANDLE_READS = set(op_types.RESOURCE_READS) - {"ReadVariableOp"}
#: Of the reads, so many are listed.
MOST_LISTED = 3


class AssignedRead(NamedTuple):
    """A read of a variable behind its only assignment in the step.

    Attributes:
      node: the node that reads.
      variable: name of the variable.
      value: the tensor that was assigned.
    """

    node: str
    variable: str
    value: TensorId


def find_assigned_reads(context: Context, targets: Iterable[str]) -> list[AssignedRead]:
    """Finds the reads, by losses and gradients, of a variable that the graph orders behind its only assignment.

    Args:
      context: of the cut graph.
      targets: the train ops.

    Returns:
      The reads. Reads of weights, reads in loops or branches, and reads that no path orders are none.
    """
    graph, state = context.graph, context.state
    members = graph.ancestors(targets)
    ends = in_gradient_graphs(members) | set(losses.differentiated(graph, members))
    computed = graph.ancestors(ends, controls=False) - graph.frames() - graph.branches()
    trained = {variable for rule in state.rules for variable in state.writes[rule]}
    found = []
    for variable in state.variables:
        changes = [node for node, written in state.writes.items() if variable in written]
        if len(changes) != 1 or variable in trained or graph.type(changes[0]) not in _ASSIGNS:
            continue
        (assign,) = changes
        if assign not in graph.frames() | graph.branches():
            readers = [node for node, read in state.reads.items() if variable in read and node in computed]
            readers = [node for node in readers if graph.type(node) not in _OTHER_HANDLE_READS]
            behind = graph.descendants([assign]) if readers else set()
            value = graph.inputs(assign)[1]
            found += [AssignedRead(node, variable, value) for node in readers if node in behind]
    return found


def with_assigned_values(context: Context, reads: Iterable[AssignedRead]) -> Graph:
    """Returns the graph with the assigned values in place of the variables in some reads."""
    by_node: dict[str, dict[str, TensorId]] = {}
    for read in reads:
        by_node.setdefault(read.node, {})[read.variable] = read.value
    result = v1.GraphDef()
    result.CopyFrom(context.graph.graph_def)
    for node in result.node:
        if node.name in by_node:
            _give_values(context, node, by_node[node.name])
    return Graph(result)


def _give_values(context: Context, node: tf.compat.v1.NodeDef, values: dict[str, TensorId]) -> None:
    """Replaces the variables among a node's inputs by values; a node that reads by a handle becomes a copy of one."""
    for position, tensor in enumerate(context.graph.inputs(node.name)):
        value = values.get(context.state.aliases.get(tensor, ""))
        if value is not None:
            node.input[position] = input_text(value)
    if node.op == "ReadVariableOp":
        dtype = node.attr["dtype"].type
        node.op = "Identity"
        node.attr.clear()
        node.attr["T"].type = dtype


def note_on_reads(reads: Iterable[AssignedRead]) -> str:
    """Returns a sentence on some reads; "" for none.

    >>> note_on_reads([AssignedRead("gradients/mul_grad/Mul", "state", TensorId("new", 0))])
    'gradients/mul_grad/Mul uses state after the step has assigned it: it takes the new value'
    """
    found = list(reads)
    if not found:
        return ""
    subject = listed([read.node for read in found], MOST_LISTED)
    variables = listed(list(dict.fromkeys(read.variable for read in found)), MOST_LISTED)
    if len(found) == 1:
        return f"{subject} uses {variables} after the step has assigned it: it takes the new value"
    return f"{subject} use {variables} after the step has assigned them: they take the new values"
