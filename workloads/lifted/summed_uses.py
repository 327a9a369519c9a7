"""Gradients of weights that each tower uses several times, where one op adds those of all uses of all towers.

`tf.gradients` of one loss of all towers makes such sums. A replica has the sum over its own uses.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from workloads.lifted.graph import Graph, input_text, parse_tensor_name, tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import control_inputs
from workloads.lifted.plan import part_label

if TYPE_CHECKING:
    from workloads.lifted.plan import Combine, Phase, Plan, TensorType

_SUM = "AddN"
#: Stands in the name of a sum of one tower, behind the op's own.
_OF_TOWER = "/of_tower_"


def with_sums_of_uses(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which such an op adds one sum of each tower, of that tower's uses in their order.

    So the sum has another order, which rounds otherwise: that of replicas, which add their own uses first.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Both; the same ones if there are no such gradients.
    """
    if all(_op_that_adds(graph, combine) is None for phase in plan.phases for combine in phase.combine):
        return plan, graph
    result = GraphCopy(graph)
    tensors: Dict[str, TensorType] = {}
    phases = [_with_sums(phase, plan, graph, result, tensors) for phase in plan.phases]
    return dataclasses.replace(plan, phases=phases, tensors={**plan.tensors, **tensors}), result.graph()


def weights_with_sums(plan: Plan) -> List[str]:
    """Returns the weights for whose gradients `with_sums_of_uses` has added sums of each tower's uses.

    Args:
      plan: of a lift, as it returns it.
    """
    combined = [combine for phase in plan.phases for combine in phase.combine]
    return list(
        dict.fromkeys(one.weight for one in combined if any(_OF_TOWER in name for own in one.parts for name in own))
    )


def _with_sums(phase: Phase, plan: Plan, graph: Graph, result: GraphCopy, tensors: Dict[str, TensorType]) -> Phase:
    """Returns a train op with one gradient of each tower for such a weight.

    Args:
      phase: the train op.
      plan: of the lift.
      graph: of the lift.
      result: the copy of the graph that gets the sums.
      tensors: {sum: its type}; gets those that are new.

    Returns:
      The train op.
    """
    combines: List[Combine] = []
    gradients = [dict(own) for own in phase.gradients]
    for combine in phase.combine:
        adds = _op_that_adds(graph, combine)
        if adds is None:
            combines.append(combine)
            continue
        sums = [_sum_of(adds, tower, parts) for tower, parts in enumerate(combine.parts)]
        types = {name: plan.tensors[parts[0]] for name, parts in zip(sums, combine.parts) if name != parts[0]}
        if not tensors.keys() >= types.keys():  # another train op may have the same sum
            tensors.update(types)
            _add_sums(graph, result, adds, dict(zip(sums, combine.parts)))
        combines.append(dataclasses.replace(combine, parts=[[name] for name in sums]))
        for own, parts, name in zip(gradients, combine.parts, sums):
            for number in range(len(parts)):
                own.pop(part_label(combine.weight, number), None)
            own[combine.weight] = name
    return dataclasses.replace(phase, combine=combines, gradients=gradients)


def _add_sums(graph: Graph, result: GraphCopy, adds: str, sums: Dict[str, List[str]]) -> None:
    """Makes an op add sums in place of their parts.

    Args:
      graph: of the lift.
      result: the copy of the graph, in which the op changes.
      adds: name of the op.
      sums: {sum: its parts}; a part that stands alone is its own sum.
    """
    node, places = result.nodes[adds], {parts[0]: name for name, parts in sums.items()}
    left_out = {part for parts in sums.values() for part in parts[1:]}
    given = [places.get(tensor.name, tensor.name) for tensor in graph.inputs(adds) if tensor.name not in left_out]
    for name, parts in sums.items():
        if len(parts) > 1:
            terms = [input_text(parse_tensor_name(part)) for part in parts]
            own = result.add(parse_tensor_name(name).node, _SUM, terms, node.device)
            own.attr["N"].i = len(parts)
            own.attr["T"].CopyFrom(node.attr["T"])
    node.input[:] = [*(input_text(parse_tensor_name(name)) for name in given), *control_inputs(node)]
    node.attr["N"].i = len(given)


def _op_that_adds(graph: Graph, combine: Combine) -> Optional[str]:
    """Returns the op that adds several tensors of a tower to those of all others; None if there is none."""
    parts = [part for own in combine.parts for part in own]
    if not all(combine.parts) or len(parts) == len(combine.parts) or len(set(parts)) < len(parts):
        return None
    users = [{use.node for use in graph.users(parse_tensor_name(part).node)} for part in parts]
    for name in sorted(set.intersection(*users)):
        given = [tensor.name for tensor in graph.inputs(name)]
        if graph.type(name) == _SUM and all(given.count(part) == 1 for part in parts):
            return name
    return None


def _sum_of(adds: str, tower: int, parts: List[str]) -> str:
    """Returns the name of the sum of a tower's parts, which is the part itself if it is the only one."""
    return parts[0] if len(parts) == 1 else tensor_name(f"{adds}{_OF_TOWER}{tower}", 0)
