"""Losses that read other towers' copies of the weights, such as a sum of all penalties that there are yet.

The old gradients of such a tower are those of its own copies. Where all towers share the first one's variables, the
loss has the same value, and is not differentiated by what it has of the others' copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Set

import tensorflow as tf

from legacy.saved.graph.imported import imported_graph
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import input_text

if TYPE_CHECKING:
    from workloads.lifted.plan import Plan


def with_others_stopped(plan: Plan, graph: Graph, copies: Mapping[str, str]) -> Graph:
    """Returns a graph in which a loss is not differentiated by what it takes of other towers' copies alone.

    Args:
      plan: of the lift.
      graph: of the lift.
      copies: {variable of a later tower: the first tower's}; see `model_copies`.

    Returns:
      The graph; the same one if each tower reads its own copies only.
    """
    taken = _taken_of_others(plan, graph, {*copies, *copies.values()})
    if not taken:
        return graph
    result, imported = GraphCopy(graph), imported_graph(graph)
    for tensor, users in taken.items():
        stop = result.add(f"{tensor.node}/of_another_tower_{tensor.output}", "StopGradient", [input_text(tensor)])
        stop.attr["T"].type = tf.as_dtype(imported.dtype(tensor.node, tensor.output)).as_datatype_enum
        for user in users:
            for position, text in enumerate(result.nodes[user].input):
                if text == input_text(tensor):
                    result.nodes[user].input[position] = stop.name
    return result.graph()


def _taken_of_others(plan: Plan, graph: Graph, variables: Set[str]) -> Dict[TensorId, List[str]]:
    """Returns {tensor of earlier towers' copies alone: the ops of a later tower's loss that take it}.

    Args:
      plan: of the lift.
      graph: of the lift.
      variables: all copies.
    """
    forward = [graph.ancestors([parse_tensor_name(loss).node], controls=False) for loss in plan.phases[0].losses]
    found: Dict[TensorId, List[str]] = {}
    for number, nodes in enumerate(forward[1:], 1):
        earlier = set().union(*forward[:number])
        others = variables & nodes & earlier
        reads = {user.node for name in others for user in graph.users(name)}
        of_others = graph.descendants(sorted(others), controls=False) & (earlier | reads) - variables
        for name in sorted(nodes - earlier - reads):
            for tensor in dict.fromkeys(graph.inputs(name)):
                if tensor.node in of_others:
                    found.setdefault(tensor, []).append(name)
    return found
