"""Lookups of one weight on both sides of a loop, which become one lookup: its gradient has the old graph's order.

`tf.gradients` joins the rows of several lookups as it comes to them, by their distance from the loss. A loop of 1.x is
many ops, and one of today is a single op, so that the encoder of a sequence model may now come before the decoder.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Collection, Dict, List, Sequence, Tuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.lookups.variables_taken import forward_of, variables_taken
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import TensorId, input_text, parse_tensor_name
from workloads.lifted.tensors.gradient_names import gradient_nodes
from workloads.support.wording import listed

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan

v1 = tf.compat.v1

_JOIN = "ConcatV2"
#: The most weights that a note names.
MOST_LISTED = 8


def with_joined_lookups(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which such lookups are one, of all their indices in the order of the old gradient's rows.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      The plan, which names the weights, and the graph; the same ones if there are no such weights.
    """
    losses = sorted({loss for phase in plan.phases for loss in phase.losses})
    groups = _groups(graph, [graph.ancestors([parse_tensor_name(loss).node], controls=False) for loss in losses])
    if not groups:
        return plan, graph
    result = GraphCopy(graph)
    for lookups in groups:
        _join(result, graph, lookups)
    weights = sorted({variables_taken(graph, lookups[0])[0] for lookups in groups})
    note = f"{listed(weights, MOST_LISTED)}: looked up at once where the old program looks up on both sides of a loop; "
    note += "today's gradients of several lookups would be added in another order"
    about = {**plan.about, "watch": [note, *plan.about.get("watch", [])]}
    return dataclasses.replace(plan, about=about), result.graph()


def _groups(graph: Graph, losses: Sequence[Collection[str]]) -> List[Tuple[str, ...]]:
    """Returns the lookups to join, in the order in which the old gradient joins their rows.

    Args:
      graph: of the lift.
      losses: all that each tower's loss depends on; lookups of different towers stay apart.

    Returns:
      The lookups of each group.
    """
    gradients, frames = gradient_nodes(graph), graph.frames()
    found: List[Tuple[str, ...]] = []
    for name in sorted(gradients):
        if graph.type(name) != _JOIN:
            continue
        lookups = [forward_of(graph, tensor.node, gradients) for tensor in graph.inputs(name)[:-1]]
        if len(set(lookups)) < len(lookups) or not _look_up_one_weight(graph, lookups) or frames.intersection(lookups):
            continue
        for group in _by_losses(lookups, losses):
            if len(group) > 1 and group not in found and _are_around(graph, group):
                found.append(group)
    return found


def _by_losses(lookups: Sequence[str], losses: Sequence[Collection[str]]) -> List[Tuple[str, ...]]:
    """Returns lookups in groups, each of those that the same losses depend on."""
    groups: Dict[Tuple[bool, ...], List[str]] = {}
    for name in lookups:
        groups.setdefault(tuple(name in before for before in losses), []).append(name)
    return [tuple(group) for takers, group in groups.items() if any(takers)]


def _look_up_one_weight(graph: Graph, lookups: Sequence[str]) -> bool:
    """Returns whether all are lookups of rows of the same weight."""
    if not all(name and graph.type(name) in op_types.LOOKUPS for name in lookups):
        return False
    batched = any("batch_dims" in graph.nodes[name].attr and graph.nodes[name].attr["batch_dims"].i for name in lookups)
    weights = {tuple(variables_taken(graph, name)) for name in lookups}
    return not batched and len(weights) == 1 and len(weights.pop()) == 1


def _are_around(graph: Graph, lookups: Sequence[str]) -> bool:
    """Returns whether a loop takes what is looked up, and no index follows from it."""
    behind = graph.descendants(lookups, controls=False)
    indices = {graph.inputs(name)[1].node for name in lookups}
    return bool(behind & set(graph.frames())) and not behind & indices


def _join(result: GraphCopy, graph: Graph, lookups: Sequence[str]) -> None:
    """Joins lookups: all rows are looked up at once, and each one's users take its part of them."""
    first, base = graph.nodes[lookups[0]], lookups[0] + "/joined/"
    given = [graph.inputs(name)[1] for name in lookups]
    kinds = [graph.nodes[name].attr["Tindices"].type for name in lookups]
    rows = result.add_copy(first, base + "rows")
    rows.input[1] = base + "indices"
    rows.attr["Tindices"].type = kinds[0] if len(set(kinds)) == 1 else tf.int64.as_datatype_enum
    inputs = {f"indices_{number}": input_text(tensor) for number, tensor in enumerate(given)}
    for node in _parts(kinds, rows.attr["dtype"].type or rows.attr["Tparams"].type).node:
        if node.op != "Placeholder":
            copy = result.add_copy(node, base + node.name)
            copy.input[:] = [inputs.get(name) or base + name for name in node.input]
    for number, name in enumerate(lookups):
        for user, position, _ in graph.users(name):
            result.give(user, position, TensorId(f"{base}part_{number}", 0))


def _parts(kinds: Sequence[int], dtype: int) -> Any:
    """Returns the graph that joins `indices_0`, `indices_1` to `indices`, and divides `rows` to `part_0`, `part_1`."""
    with tf.Graph().as_default() as made:
        given = [v1.placeholder(kind, name=f"indices_{number}") for number, kind in enumerate(kinds)]
        flat = [tf.reshape(one, [-1]) for one in given]
        tf.concat(flat if len(set(kinds)) == 1 else [tf.cast(one, tf.int64) for one in flat], 0, name="indices")
        rows = v1.placeholder(dtype, name="rows")
        sizes = tf.stack([tf.size(one) for one in given])
        of_row = tf.shape(rows)[1:]
        for number, part in enumerate(tf.split(rows, sizes, num=len(given))):
            tf.reshape(part, tf.concat([tf.shape(given[number]), of_row], 0), name=f"part_{number}")
    return made.as_graph_def()
