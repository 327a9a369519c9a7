"""Regularization terms of a graph: the ops that compute them, and those that use their values."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from typing import NamedTuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import GRADIENTS, gradient_nodes, is_gradient_op

PENALTIES = re.compile(r"(?i)(l2loss|l2_loss|l1_loss|regularizer|weight_loss|weight_decay|weightdecay)")


class Penalty(NamedTuple):
    """A regularization term.

    Attributes:
      op: its last node of its own.
      variables: trainable variables that it is computed from.
      kind: the op types that it is made of, to tell an L1 term from an L2 term of the same variable.
    """

    op: str
    variables: tuple[str, ...]
    kind: tuple[str, ...]


@functools.lru_cache(maxsize=2)
def find_penalties(whole: WholeGraph) -> list[Penalty]:
    """Returns the regularization terms of a graph: functions of trainable variables alone that end in a penalty's op.

    A global norm of gradients is made of the same ops, but of gradients; so is a norm of weights, by which they are
    clipped, but it ends in a root.
    """
    graph = whole.graph
    candidates = {name for name in graph.nodes if _has_penalty_op(whole, name)}
    computed = whole.data | graph.descendants(gradient_nodes(graph) | set(whole.writes), controls=False)
    found = []
    for name in [name for name in graph.nodes if name in candidates]:
        if name in computed or any(user in candidates for user in users_of(whole, name)):
            continue
        before = graph.ancestors([name], controls=False)
        variables = tuple(sorted(whole.trainable & before))
        if not variables or has_root(whole, name):
            continue
        found.append(Penalty(name, variables, kinds_before(graph, before - set(variables))))
    return found


def kinds_before(graph: Graph, names: Collection[str]) -> tuple[str, ...]:
    """Returns the sorted op types of some nodes, without constants and copies."""
    return tuple(sorted(graph.type(name) for name in names if graph.type(name) not in ("Identity", "Const")))


def _has_penalty_op(whole: WholeGraph, name: str) -> bool:
    """Whether a node computes or scales a penalty, by its op type or its name."""
    kind = whole.graph.type(name)
    if is_gradient_op(name) or GRADIENTS.search(name):
        return False
    if kind == "L2Loss":
        return True
    if kind == "Mul" and whole.graph.inputs(name):
        inputs = [before for before, _ in whole.graph.inputs(name)]
        if any(whole.graph.type(before) == "L2Loss" for before in inputs):
            return any(_is_rate(whole, before) for before in inputs)
    # A regularizer of Keras is a product in the name scope "Regularizer".
    own = name.split("/")[-2 if re.match(r"mul(_\d+)?$", name.split("/")[-1]) else -1 :]
    return kind in ("Mul", "Sum") and bool(PENALTIES.search("/".join(own)))


def _is_rate(whole: WholeGraph, name: str) -> bool:
    """Whether a factor of a penalty is one number that no data reach: a constant, or one that is fed."""
    fed = whole.graph.origin(TensorId(name, 0)).node
    return whole.value(name) is not None or (fed not in whole.data and whole.graph.type(fed).startswith("Placeholder"))


def users_of(whole: WholeGraph, name: str) -> set[str]:
    """Returns the nodes that use a value, seen through copies and products with constants."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for user, _, _ in whole.graph.users(todo.pop()):
            if user not in found:
                found.add(user)
                scaled = constant_factor(whole, user) is not None
                if whole.graph.type(user) in COPIES or (scaled and not _has_penalty_op(whole, user)):
                    todo.append(user)
    return found


def has_root(whole: WholeGraph, name: str) -> bool:
    """Returns whether a root is taken of a value, which makes it a norm to be displayed."""
    return any(whole.graph.type(user) in op_types.ROOTS for user in users_of(whole, name))
