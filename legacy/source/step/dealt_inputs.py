"""Data that only a loss of all towers takes, as the targets of Keras's `multi_gpu_model`: each tower has a part."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, Tuple

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.plan import TensorType

if TYPE_CHECKING:
    from workloads.lifted.plan import Input, Plan


def with_dealt_inputs(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which such data are joined from those of the towers' examples.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Both; the same ones if there are no such data.
    """
    found = [entry for entry in plan.inputs + plan.common if _is_dealt(plan, graph, entry)]
    if not found:
        return plan, graph
    result, dealt = GraphCopy(graph), {}
    for entry in found:
        name = parse_tensor_name(entry.tensors[0]).node
        node = result.nodes[name]
        parts = [f"{name}/of_tower_{tower}" for tower in range(plan.towers)]
        shape = [plan.batch, *(entry.shape or [])[1:]]
        for part in parts:
            placeholder = result.add(part, "Placeholder")
            placeholder.attr["dtype"].type = tf.as_dtype(entry.dtype).as_datatype_enum
            placeholder.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        node.op = "ConcatV2"
        node.input[:] = [*parts, result.add_constant(f"{name}/of_towers/axis", np.array(0, np.int32))]
        node.attr.clear()
        node.attr["N"].i = len(parts)
        node.attr["T"].type = tf.as_dtype(entry.dtype).as_datatype_enum
        node.attr["Tidx"].type = tf.int32.as_datatype_enum
        tensors = [part + ":0" for part in parts]
        dealt[entry.name] = dataclasses.replace(entry, kind="batch", shape=shape, tensors=tensors)
    inputs: List[Input] = [entry for entry in plan.inputs if entry.name not in dealt]
    common = [entry for entry in plan.common if entry.name not in dealt]
    types = {tensor: TensorType(one.dtype, one.shape) for one in dealt.values() for tensor in one.tensors}
    of_plan = {**plan.tensors, **types}
    plan = dataclasses.replace(plan, inputs=[*inputs, *dealt.values()], common=common, tensors=of_plan)
    return plan, result.graph()


def _is_dealt(plan: Plan, graph: Graph, entry: Input) -> bool:
    """Returns whether an input has a row for each example of all towers, and no tower's results depend on it."""
    name = parse_tensor_name(entry.tensors[0]).node
    if entry.kind != "same" or entry.sparse or not entry.shape or any(use.output for use in graph.users(name)):
        return False
    rows = None if plan.batch is None else plan.batch * plan.towers
    if entry.shape[0] not in (None, rows) or not any(any(phase.returns) for phase in plan.phases):
        return False
    results = [parse_tensor_name(tensor).node for phase in plan.phases for tensor in phase.losses]
    return name not in graph.ancestors(results, controls=False)
