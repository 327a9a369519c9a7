"""The towers' terms of one loss of all towers, and the weight of each."""

from __future__ import annotations

import collections

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import without_zero
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId

#: Ops that a sum of all towers' terms is made of, and ops that multiply all of it by a constant.
_SUMS = ("Sum", "Add", "AddV2", "AddN", "Identity", "Pack", *op_types.JOINS, "ExpandDims")
_FACTORS = ("Mean", "Mul", *op_types.DIVISIONS)


def term_weights(graph: Graph, towers: Towers, target: str) -> dict[TensorId, float]:
    """Finds the terms of a sum of towers' scalars.

    What depends on no tower and no data, such as a penalty on weights, is left out. A factor of all terms together need
    not be known, as where each of a tower's losses is divided by a number of all towers' examples.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      target: the node of the sum, which belongs to no tower.

    Returns:
      {tensor of a tower: its weight}, if all weights are constant; {} of anything else.
    """
    found: dict[TensorId, float] = {}
    divisors: dict[TensorId, set[tuple[TensorId, ...]]] = collections.defaultdict(set)
    todo: list[tuple[str, float, tuple[TensorId, ...]]] = [(target, 1.0, ())]
    seen = {target}
    while todo:
        name, weight, divided = todo.pop(0)
        factor = 1.0 if graph.type(name) in _SUMS else constant_factor(graph, name)
        is_whole = not todo and not found  # of all terms together the factor need not be known
        factor = 1.0 if factor is None and is_whole and graph.type(name) in _FACTORS else factor
        if factor is None and graph.type(name) in op_types.DIVISIONS:
            factor, divided = 1.0, (*divided, graph.inputs(name)[1])
        if factor is None:
            if towers.masks.get(name, 0):
                return {}
            continue
        terms = (
            graph.inputs(name)[:1]
            if graph.type(name) in (*op_types.REDUCTIONS, *op_types.DIVISIONS)
            else graph.inputs(name)
        )
        for tensor in [tensor for tensor in terms if graph.type(tensor.node) != "Const"]:
            if towers.tower_of(tensor.node) is not None:
                tensor = without_zero(graph, tensor)
                found[tensor] = found.get(tensor, 0.0) + weight * factor
                divisors[tensor].add(divided)
            elif tensor.node not in seen:
                seen.add(tensor.node)
                todo.append((tensor.node, weight * factor, divided))
    return found if len(set().union(*divisors.values())) < 2 else {}


def weights_are_known(graph: Graph, towers: Towers, target: str) -> bool:
    """Tells whether `term_weights` has all factors of a sum of towers' scalars, also those on all terms together.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      target: the node of the sum, which belongs to no tower.

    Returns:
      Whether it does.
    """
    todo, seen = [target], {target}
    while todo:
        name = todo.pop()
        if graph.type(name) not in _SUMS and constant_factor(graph, name) is None:
            return False
        shared = {tensor.node for tensor in graph.inputs(name) if towers.is_shared(tensor.node)} - seen
        seen |= shared
        todo += shared
    return True


def constant_factor(graph: Graph, name: str) -> float | None:
    """Returns the number that an op multiplies by: c for x * c, 1 / c for x / c or a mean of c; else None.

    Args:
      graph: the subgraph that a step runs.
      name: of the op.
    """
    inputs = [tensor.node for tensor in graph.inputs(name)]
    if graph.type(name) == "Mean" and graph.type(inputs[0]) in ("Pack", *op_types.JOINS):
        return 1.0 / sum(graph.type(tensor.node) != "Const" for tensor in graph.inputs(inputs[0]))
    is_product, is_quotient = graph.type(name) == "Mul", graph.type(name) in op_types.DIVISIONS
    for node in inputs if is_product else inputs[1:] if is_quotient else []:
        value = (
            tf.make_ndarray(graph.nodes[node].attr["value"].tensor) if graph.type(node) == "Const" else np.zeros([0])
        )
        if value.size == 1 and value.item():
            return float(value.item()) if is_product else 1.0 / float(value.item())
    return None
