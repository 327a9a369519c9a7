"""`in_float64`: a lifted workload in double precision.

Inputs, random numbers and constants have the values that they have in float32, and are cast once; float attributes,
such as an epsilon, stay as they are; variables, with their optimizer's accumulators, are float64. The lift's files are
not touched.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, Set

import tensorflow as tf

from workloads.lifted.double.functions import FunctionLibrary
from workloads.lifted.double.graph_rewriter import RANDOM, GraphRewriter
from workloads.lifted.double.plan import plan_in_float64
from workloads.lifted.double.signatures import Signatures
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph import parse_tensor_name as parse

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.plan import Plan
    from workloads.lifted.workload import LiftedWorkload

v1 = tf.compat.v1


def in_float64(workload: LiftedWorkload) -> LiftedWorkload:
    """Returns a lifted workload in float64, with the same inputs, random numbers and initial values.

    Raises:
      NotInDouble: a node that depends on variables has no form in float64; the message names it.
      InputError: this TensorFlow does not know an op.
    """
    plan, graph = workload.plan, workload.graph
    given = {parse(tensor): entry for entry in plan.inputs + plan.common for tensor in entry.tensors}
    wanted = _run_by_steps(plan, graph, set(given))
    sources = {tensor.node for tensor in given}
    drawing = {node for entry in plan.noise + plan.common_noise for node in entry.nodes if node}
    library = FunctionLibrary(graph.graph_def.library)
    rewriter = GraphRewriter(
        graph,
        library.signatures,
        library.double,
        wanted,
        sources | drawing,
        _varying(graph, wanted - sources - drawing, library.signatures),
        {tensor: tf.as_dtype(entry.dtype).as_datatype_enum for tensor, entry in given.items()},
    )
    rewritten = rewriter.rewrite()
    library.add(rewritten.functions)
    graph_def = v1.GraphDef(versions=graph.graph_def.versions, library=library.result())
    graph_def.node.extend(rewritten.nodes)
    return dataclasses.replace(workload, plan=plan_in_float64(plan, rewritten), graph=Graph(graph_def))


def _run_by_steps(plan: Plan, graph: Graph, given: Collection[TensorId]) -> Set[str]:
    """Returns the nodes that steps run: what inputs are made from is not among them."""
    ends = {phase.train_op for phase in plan.phases} | {variable.name for variable in plan.variables}
    ends |= {parse(tensor).node for tensor in plan.tensors if parse(tensor) not in given}
    for phase in plan.phases:
        observed: List[str] = phase.losses + [name for tower in phase.gradients for name in tower.values()]
        ends |= {parse(name).node for name in observed if parse(name) not in given}
    seen, todo = set(ends), list(ends)
    while todo:
        name = todo.pop()
        producers = [tensor.node for tensor in graph.inputs(name) if tensor not in given] + graph.controls(name)
        for producer in producers:
            if producer not in seen:
                seen.add(producer)
                todo.append(producer)
    return seen


def _varying(graph: Graph, wanted: Collection[str], signatures: Signatures) -> Set[str]:
    """Returns the nodes whose values depend on variables, or on anything else that a step changes."""

    def changes(name: str) -> bool:
        op = graph.type(name)
        return signatures.definition(op).is_stateful and op not in RANDOM and not op.startswith("Random")

    return graph.descendants([name for name in wanted if changes(name)], controls=False)
