"""Crossings: tensors that leave the towers, each with the tensor that it leads to."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable
from typing import Dict, Tuple

from legacy.saved.graph.conditions import enclosing_conditions, enters_a_branch
from legacy.saved.graph.variables import VariableUses
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_of_gradients

#: {(tensor that the crossings lead to, number): {tower: crossing}}; towers' matching crossings share a key.
Crossings = Dict[Tuple[TensorId, int], Dict[int, TensorId]]


def find_crossings(
    graph: Graph,
    state: VariableUses,
    ends: Iterable[TensorId],
    tower_nodes: dict[str, int],
    owners: dict[TensorId, int],
) -> Crossings:
    """Finds the towers' tensors that are nearest to some tensors.

    Args:
      graph: the cut graph.
      state: its variables; the search ends at them.
      ends: tensors that the crossings lead to.
      tower_nodes: {node: the tower that computes it}.
      owners: {tensor that brings data in: the only tower that takes it}; such a tensor is a crossing itself.

    Returns:
      The crossings, each one listed with the first end that it leads to. Results of a forward pass, as a loss that the
      learning rate follows, are numbered apart from gradients: one tower may have such, and another one none.
    """
    found: set[TensorId] = set()
    crossings: Crossings = collections.OrderedDict()
    for end in ends:
        numbers: dict[tuple[int, bool], int] = collections.Counter()
        is_towers = end[0] in tower_nodes or end in owners
        for tensor in [end] if is_towers else tensors_leaving(graph, state, end[0], tower_nodes, owners):
            tower = owners[tensor] if tensor in owners else tower_nodes[tensor[0]]
            kind = is_of_gradients(tensor.node)
            if tensor not in found:
                found.add(tensor)
                crossings.setdefault((end, 2 * numbers[tower, kind] + kind), {})[tower] = tensor
                numbers[tower, kind] += 1
    return crossings


def tensors_leaving(
    graph: Graph,
    state: VariableUses,
    effect: str,
    tower_nodes: Collection[str],
    owners: Collection[TensorId] = (),
) -> list[TensorId]:
    """Returns the towers' tensors nearest to a node that is computed once, or to the predicates of its branches.

    An assignment of a constant in a branch has no other data: `tf.cond(loss < best, lambda: bad.assign(0), ...)`. What
    enters a branch outside of the towers, be it the update's or that of a `cond` on its way, is taken before it enters:
    there it has a value in every step.

    Args:
      graph: the cut graph.
      state: its variables; the search ends at them.
      effect: the node, mostly an update op.
      tower_nodes: nodes that towers compute.
      owners: tensors that bring data into a single tower.

    Returns:
      Tensors, in the order in which the node's inputs lead to them.
    """
    seen: set[str] = set()
    found: dict[TensorId, None] = {}
    predicates = [branch.predicate for level in enclosing_conditions(graph, effect) for branch in sorted(level)]
    todo = [tensor for tensor in reversed([*graph.inputs(effect), *predicates]) if tensor not in state.aliases]
    while todo:
        tensor = todo.pop()
        name = tensor[0]
        if (name in tower_nodes or tensor in owners) and not enters_a_branch(graph, name):
            found[tensor] = None
        elif name not in seen and tensor not in state.aliases:
            seen.add(name)
            todo += reversed(graph.inputs(name))
    return list(found)
