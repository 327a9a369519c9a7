"""Numbers that a program computes of its towers' parts of a batch, joined: the sum of `tf.concat` of all masks.

Such a number belongs to each batch as one of the whole batch does, see `wholes`. It gets nodes of its own, beside those
that make the towers' parts, so that it follows from the batch and the towers' parts stay what enters them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.input_places.equal_inputs import Entered
from legacy.saved.analysis.input_places.wholes import is_computed, is_open, is_shared_out, made_up_shapes
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.graph.edits import GraphCopy, unplaced_copy
from workloads.lifted.graph.tensor_names import data_inputs, input_text

v1 = tf.compat.v1
#: Ending of the names of the nodes that are added.
_ENDING = "/of_whole"
#: Numbers of the batches that are tried are below these bounds; and how many batches are tried of each.
_BOUNDS, _BATCHES = (2, 4, 100), 16


def with_numbers_of_joined_parts(graph: Graph, imported: ImportedGraph, steps: Sequence[Entered]) -> Graph | None:
    """Computes numbers of all towers' parts of a batch of any size apart from these parts.

    A number that depends on which tower has an example, as a sum of each tower's largest, stays as it is.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      steps: the divided train ops.

    Returns:
      The graph; None if there is no such number.
    """
    result, changed = GraphCopy(graph), False
    for step in steps:
        entering = {tensor for own in step.cuts for tensor in own} | set(step.common_cuts)
        numbers = [one for one in entering if imported.shape(*one) == () and graph.inputs(one.node)]
        parts = {tensor.node for tensor in entering}.difference(one.node for one in numbers)
        for number in sorted(numbers) if len(step.cuts) > 1 else []:
            before = graph.ancestors([number.node], controls=False)
            wholes = [one for one in before if graph.type(one) == "Placeholder"]
            made = before.difference(wholes)
            if len(wholes) != 1 or parts.isdisjoint(made) or not all(is_computed(graph, one) for one in made):
                continue
            if not is_open(imported, wholes[0]) or not is_shared_out(graph, imported, wholes[0], step.cuts):
                continue
            if _is_of_any_order(imported, wholes[0], len(step.cuts), number):
                _compute_apart(graph, result, number, made)
                changed = True
    return result.graph() if changed else None


def _is_of_any_order(imported: ImportedGraph, whole: str, towers: int, number: TensorId) -> bool:
    """Tries out whether a number is the same for a batch whose examples come in other orders, in other towers.

    Args:
      imported: the graph, as TensorFlow has it.
      whole: name of the batch.
      towers: how many share it out.
      number: the number.

    Returns:
      Whether it is.
    """
    graph, rng = imported.tf_graph, np.random.RandomState(3)
    given, asked = (graph.get_tensor_by_name(tensor_name(*one)) for one in (TensorId(whole, 0), number))
    ran = False
    with v1.Session(graph=graph, config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        for shape, bound in itertools.product(made_up_shapes(imported, whole, towers), _BOUNDS * _BATCHES):
            batch = rng.randint(0, bound, shape).astype(given.dtype.as_numpy_dtype)
            orders = (np.arange(len(batch)), rng.permutation(len(batch)))
            try:
                first, other = (session.run(asked, {given: batch[order]}) for order in orders)
            except tf.errors.OpError:  # as an index of a table would be too large
                continue
            if not np.allclose(first, other, rtol=1e-5):
                return False
            ran = True
    return ran


def _compute_apart(graph: Graph, result: GraphCopy, number: TensorId, made: set[str]) -> None:
    """Adds copies of the nodes that make a number, and gives the copy to its users.

    Args:
      graph: the graph.
      result: its copy, which is changed.
      number: the number.
      made: the nodes behind it, without the batch.
    """
    for name in sorted(made):
        if name + _ENDING not in result.nodes:
            copy = unplaced_copy(graph.nodes[name], name + _ENDING)
            given = [one._replace(node=one.node + _ENDING) if one.node in made else one for one in graph.inputs(name)]
            copy.input[: len(data_inputs(copy))] = [input_text(one) for one in given]
            result.add_copy(copy)
    for use in graph.users(number.node):
        if use.output == number.output:
            result.give(use.node, use.position, number._replace(node=number.node + _ENDING))
