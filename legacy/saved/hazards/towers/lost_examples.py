"""Examples of a tower whose gradients are lost, in words: another tower's, too, or its own."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping
from typing import Counter, Tuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {(op type, bytes of a constant, numbers of the outputs that it takes): how many ops of a pass are so}.
_Ops = Counter[Tuple[str, bytes, Tuple[int, ...]]]


def examples_text(whole: WholeGraph, backward: Mapping[int, Collection[str]], tower: int, lost: Collection[int]) -> str:
    """Returns what follows for the examples of a tower of which no gradient reaches an update.

    Args:
      whole: the graph.
      backward: {tower: ops of its backward pass}.
      tower: the one of lost gradients.
      lost: all such towers.

    Returns:
      The clause: of a tower that computes the same of the same data as one that trains, that this one has them.
    """
    own = _forward_pass(whole, backward[tower])
    others = [other for other in whole.towers() if other not in lost and backward[other]]
    same = [other for other in others if own[0] and _forward_pass(whole, backward[other]) == own]
    return f"its examples are those of tower {same[0]}, which trains on them" if same else "its examples train nothing"


def _forward_pass(whole: WholeGraph, backward: Collection[str]) -> tuple[set[TensorId], _Ops]:
    """The tensors of data that a tower takes from outside of towers, and the ops before its backward pass."""
    graph = whole.graph
    taken: set[TensorId] = set()
    ops: _Ops = collections.Counter()
    for name in graph.ancestors(backward, controls=False):
        if is_gradient_op(name):
            continue
        inputs = graph.inputs(name)
        value = graph.nodes[name].attr["value"].tensor.SerializeToString() if graph.type(name) == "Const" else b""
        ops[graph.type(name), value, tuple(tensor.output for tensor in inputs)] += 1
        if name in whole.labels and name in whole.data:
            # A source of the tower's own is its own data, of whatever file.
            taken.update(one for one in inputs if one.node in whole.data and one.node not in whole.labels)
            taken.update([TensorId(name, 0)] if not inputs or op_types.is_source(graph.type(name)) else [])
    return taken, ops
