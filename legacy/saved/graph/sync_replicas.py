"""Rewrites the step of a `SyncReplicasOptimizer`, whose workers hand gradients to a thread of the chief, as one run.

Each worker puts its gradients into accumulators and waits for a token; the chief's thread takes their means, applies
them and hands the tokens out. With one worker, a mean is what the worker put there: here the update takes it directly,
and the worker's train op, which keeps the token as its step, waits for the update instead. Several workers are
replicas, over which a port takes the mean. (tf.train.SyncReplicasOptimizer, TensorFlow 0.12 to 1.15.)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.graph_file import SavedGraph
from workloads.lifted.graph import Graph
from workloads.lifted.graph.tensor_names import control_inputs, data_inputs

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1

ACCUMULATORS = ("ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator")
#: Ops that put a gradient into an accumulator, or take the mean out of it; and the number of the first input with it.
APPLIES = ("AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "SparseAccumulatorApplyGradient")
TAKES = ("AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient")
FIRST_PART = 2
#: Ops that tell an accumulator the step, so that it drops gradients of earlier ones.
SET_STEPS = ("AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep")
#: Names of constants: TensorFlow calls them after the op's input.
_REQUIRED = r"TakeGradient(_\d+)?/num_required$"
_DEQUEUES, _ENQUEUES = ("QueueDequeue", "QueueDequeueV2"), ("QueueEnqueueMany", "QueueEnqueueManyV2")


def with_own_gradients(saved: SavedGraph) -> SavedGraph:
    """Returns a graph whose updates take the gradients that went through accumulators.

    Args:
      saved: a graph as it was saved; it is not changed.

    Returns:
      The graph; itself without accumulators, or where several ops put gradients into one.
    """
    given = _gradients_by_taker(saved.graph)
    if not given:
        return saved
    waits = _waits_for_tokens(saved.graph, set(given))
    graph_def = v1.GraphDef()
    for original in saved.graph_def.node:
        node = graph_def.node.add()
        node.CopyFrom(original)
        if node.name in given:
            _hand_on(node, given[node.name])
        elif node.name in waits or node.op in (*APPLIES, *SET_STEPS):
            _leave_out(node, waits.get(node.name, []))
    graph_def.versions.CopyFrom(saved.graph_def.versions)
    graph_def.library.CopyFrom(saved.graph_def.library)
    return saved._replace(graph=Graph(graph_def))


def accumulators(graph: Graph) -> list[str]:
    """Returns the names of the accumulators of gradients."""
    return graph.of_types(*ACCUMULATORS)


def numbers_of_gradients(graph: Graph) -> list[str]:
    """Returns the constants by which accumulators wait for so many gradients before a mean is taken.

    Of a graph that `with_own_gradients` returned they are what is left of the ops that took the means.
    """
    return [name for name in graph.of_types("Const") if re.search(_REQUIRED, name)]


def _gradients_by_taker(graph: Graph) -> dict[str, list[str]]:
    """Returns {op that takes a mean: inputs of the op that put the gradient there}; {} where not each takes one."""
    found: dict[str, list[str]] = {}
    for accumulator in accumulators(graph):
        users = [use.node for use in graph.users(accumulator)]
        puts = [name for name in users if graph.type(name) in APPLIES]
        takes = [name for name in users if graph.type(name) in TAKES]
        if len(puts) != 1 or len(takes) != 1:
            return {}
        data = data_inputs(graph.nodes[puts[0]])
        found[takes[0]] = data[FIRST_PART:]
    return found


def _waits_for_tokens(graph: Graph, takes: set[str]) -> dict[str, list[str]]:
    """Returns {op that takes a token, or keeps it as the worker's step: what it waits for instead}."""
    behind = graph.descendants(takes)
    found: dict[str, list[str]] = {}
    for name in graph.nodes:
        if graph.type(name) in _ENQUEUES and name in behind:
            queue, tokens = graph.inputs(name)[:2]
            for dequeue in [use.node for use in graph.users(queue.node) if graph.type(use.node) in _DEQUEUES]:
                found[dequeue] = [tokens.node]
                keeps = [use.node for use in graph.users(dequeue) if graph.type(use.node) in op_types.SETS]
                found.update((keep, [dequeue]) for keep in keeps)
    return found


def _hand_on(node: NodeDef, parts: list[str]) -> None:
    """Makes a node hand on a gradient, or the parts of a sparse one, in place of the accumulator's mean."""
    dtype, controls = node.attr["dtype"].type, control_inputs(node)
    node.input[:] = [*parts, *controls]
    node.attr.clear()
    if len(parts) == 1:
        node.op = "Identity"
        node.attr["T"].type = dtype
    else:
        node.op = "IdentityN"
        node.attr["T"].list.type.extend([tf.int64.as_datatype_enum, dtype, tf.int64.as_datatype_enum])


def _leave_out(node: NodeDef, instead: list[str]) -> None:
    """Makes a node do nothing but wait, for other nodes too."""
    node.op = "NoOp"
    node.input[:] = [*control_inputs(node), *("^" + name for name in instead)]
    node.attr.clear()
