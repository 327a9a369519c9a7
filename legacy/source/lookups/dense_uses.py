"""Weights that are looked up by rows and used whole as well, as embeddings that give the logits, too.

The old gradients of both uses are rows, which are joined and added up in their order; of a weight that is used whole,
they are those of all rows. Today a sum of rows is added to a dense gradient, which rounds otherwise.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, Iterator, List, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.lookups.variables_taken import forward_of, variable_behind, variables_taken
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.plan import indices_label
from workloads.lifted.tensors.gradient_names import gradient_nodes
from workloads.support.wording import listed

if TYPE_CHECKING:
    from workloads.lifted.plan import Plan

_SUM_OF_ROWS = "UnsortedSegmentSum"
#: The most weights that a note names.
MOST_LISTED = 8


def with_rows_of_dense_uses(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which such a weight is used whole as a lookup of all its rows.

    What is written is differentiated again: the gradient of a lookup is rows, and has the old graph's order.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      The plan, which names the weights, and the graph; the same ones if there are no such weights.
    """
    found = _dense_uses(plan, graph)
    if not found:
        return plan, graph
    result = GraphCopy(graph)
    for (user, position), rows in sorted(found.items()):
        taker = result.nodes[user]
        name = f"{user}/all_rows_{position}"
        indices = result.add_constant(f"{name}/indices", np.arange(rows, dtype=np.int32), taker.device)
        axis = result.add_constant(f"{name}/axis", np.array(0, np.int32), taker.device)
        node = result.add(name, "GatherV2", [taker.input[position], indices, axis], taker.device)
        node.attr["Tparams"].CopyFrom(taker.attr["T"])
        node.attr["Tindices"].type = node.attr["Taxis"].type = tf.int32.as_datatype_enum
        result.give(user, position, TensorId(name, 0))
    weights = sorted({variable_behind(graph, graph.inputs(user)[position].node) for user, position in found})
    note = f"{listed(weights, MOST_LISTED)}: looked up, and used whole as tf.range looks all rows up, whose gradients"
    note += " the old program adds one by one"
    about = {**plan.about, "watch": [note, *plan.about.get("watch", [])]}
    return dataclasses.replace(plan, about=about), result.graph()


def _dense_uses(plan: Plan, graph: Graph) -> Dict[Tuple[str, int], int]:
    """Returns {(op, number of an input): rows of the weight there} of the uses whose old gradients are all rows."""
    gradients = gradient_nodes(graph)
    found: Dict[Tuple[str, int], int] = {}
    for values, indices in dict.fromkeys([*_summed_rows(graph), *_combined_rows(plan)]):
        if graph.type(values) not in op_types.JOINS or graph.type(indices) not in op_types.JOINS:
            continue
        parts = list(zip(_joined(graph, values), _joined(graph, indices)))
        of_rows = [value.node for value, rows in parts if graph.type(rows.node) != "Range"]
        looked_up = {name for part in of_rows for name in variables_taken(graph, forward_of(graph, part, gradients))}
        for value, rows in parts:
            if graph.type(rows.node) == "Range" and len(looked_up) == 1:
                found.update(_uses(graph, forward_of(graph, value.node, gradients), *looked_up))
    return found


def _summed_rows(graph: Graph) -> Iterator[Tuple[str, str]]:
    """Yields the nodes of (rows, their indices) that are made dense."""
    for total in graph.of_types(_SUM_OF_ROWS):
        yield graph.inputs(total)[0].node, graph.inputs(total)[1].node


def _combined_rows(plan: Plan) -> Iterator[Tuple[str, str]]:
    """Yields the nodes of (rows, their indices) of each tower's gradients that an update of rows takes."""
    for gradients in (tower for phase in plan.phases for tower in phase.gradients):
        for label, name in gradients.items():
            indices = gradients.get(indices_label(label))
            if indices:
                yield parse_tensor_name(name).node, parse_tensor_name(indices).node


def _joined(graph: Graph, name: str) -> List[TensorId]:
    """Returns what a node joins; up to TensorFlow 0.12 the axis came first."""
    inputs = graph.inputs(name)
    return inputs[1:] if graph.type(name) == "Concat" else inputs[:-1]


def _uses(graph: Graph, user: str, weight: str) -> Dict[Tuple[str, int], int]:
    """Returns {(op, number of an input): rows} of the one place where an op takes a weight; none for several."""
    if not user or graph.type(user) in op_types.LOOKUPS:
        return {}
    places = [n for n, tensor in enumerate(graph.inputs(user)) if variable_behind(graph, tensor.node) == weight]
    shape = graph.nodes[weight].attr["shape"].shape
    if len(places) != 1 or not shape.dim or shape.dim[0].size <= 0:
        return {}
    return {(user, places[0]): int(shape.dim[0].size)}
