"""Batches of all towers of which an update takes a number, as the sum of all lengths that it divides gradients by.

The update gathers the towers' parts and joins them, as it does with other results of all towers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, Use, input_text, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Combine

if TYPE_CHECKING:
    from workloads.lifted.plan import Input, Plan


def with_joined_parts(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift whose updates join the towers' parts of a batch where the old program took it whole.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Both; the same ones if no update takes more of such a batch than its size.
    """
    entries = plan.inputs + plan.common
    of_towers = {tensor for entry in plan.inputs for tensor in entry.tensors}
    result, types = GraphCopy(graph), dict(plan.tensors)
    joined: Dict[str, List[str]] = {}
    common: List[Input] = []
    for entry in plan.common:
        part = part_of_whole(entry, entries)
        whole = parse_tensor_name(entry.tensors[0])
        users = _users(graph, whole, part) if part is not None else []
        is_size = any(graph.type(use.node) in op_types.SHAPE_OPS for use in users)
        if part is None or entry.tensors[0] in of_towers or is_size:
            common.append(entry)
            continue
        tensor = _join(graph, result, whole, part)
        joined[tensor] = [str(one) for one in part.tensors]
        types[tensor] = plan.tensors[entry.tensors[0]]
    if not joined:
        return plan, graph
    results = [Combine("", "concat", tensor, 1.0, [[one] for one in row]) for tensor, row in joined.items()]
    rows: List[List[Optional[str]]] = [[*row] for row in joined.values()]
    phases = [
        dataclasses.replace(
            phase,
            crossings=[*phase.crossings, *[row for row in rows if row not in phase.crossings]],
            results=[*phase.results, *results],
        )
        for phase in plan.phases
    ]
    return dataclasses.replace(plan, common=common, phases=phases, tensors=types), result.graph()


def _users(graph: Graph, whole: TensorId, part: Input) -> List[Use]:
    """Returns the uses of a batch but for those by which its parts are made."""
    dealing = graph.ancestors([parse_tensor_name(str(one)).node for one in part.tensors], controls=False)
    return [use for use in graph.users(whole.node) if use.node not in dealing]


def _join(graph: Graph, result: GraphCopy, whole: TensorId, part: Input) -> str:
    """Gives the users of a batch, but for what its parts are made by, the parts that are joined.

    Args:
      graph: the graph of the lift.
      result: the copy of it that is changed.
      whole: the batch.
      part: the input of its parts.

    Returns:
      The tensor that they are joined in.
    """
    parts = [parse_tensor_name(str(tensor)) for tensor in part.tensors]
    name = f"{whole.node}/joined_parts"
    axis = result.add_constant(f"{name}/axis", np.array(0, np.int32))
    node = result.add(name, "ConcatV2", [*map(input_text, parts), axis])
    node.attr["N"].i = len(parts)
    node.attr["T"].CopyFrom(graph.nodes[whole.node].attr["dtype"])
    node.attr["Tidx"].CopyFrom(result.nodes[axis].attr["dtype"])
    for use in _users(graph, whole, part):
        result.give(use.node, use.position, TensorId(name, 0))
    return TensorId(name, 0).name
