"""Finds what a graph differentiates: the forward nodes from which `tf.gradients` started.

A gradient graph starts in a constant, the derivative of what is differentiated by itself; the gradient op that uses
it carries the name of the forward node (see `gradient_names`). A sum has no gradient op of its own where its terms
have its shape: there the constant goes to the gradient ops of the terms, and the node that adds them up was meant.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

#: Ops that hand the derivative by their result on to an input as it is, where shapes are equal.
PASSES_DERIVATIVE = ("Add", "AddV2", "AddN", "Sub", "Identity")


def differentiated(graph: Graph, members: Collection[str]) -> list[str]:
    """Returns the forward nodes that `tf.gradients` started from, by the names of the gradient ops among `members`.

    The forward nodes need not be members: a mean's gradient depends on the mean's shape, and not on the mean. What is
    differentiated on the way to a loss, such as a critic's value in a gradient penalty, is none.
    """
    found = differentiations(graph, members)
    return list(dict.fromkeys(target for targets in found.values() for target in targets))


def differentiations(graph: Graph, members: Collection[str]) -> dict[str, list[str]]:
    """Returns {node from which a gradient graph starts: forward nodes that it differentiates}; see `differentiated`."""
    starts = {root: found for root, found in gradient_starts(graph, members).items() if not _goes_on(graph, root)}
    targets = list(dict.fromkeys(target for found in starts.values() for target in found))
    inner = graph.ancestors(targets, controls=False) & set(starts)
    return {root: found for root, found in starts.items() if found and root not in inner}


def _goes_on(graph: Graph, root: str) -> bool:
    """Returns whether a gradient graph begins with what another one gives, as of a part that is computed again.

    It gives the result of a gradient op, or the sum of several, where the part's result was used several times: in a
    gradient graph of its own, or by `+`, where a program keeps some activations and computes all parts between again.
    """
    todo, seen = [tensor.node for tensor in graph.inputs(root)], {root}
    while todo:
        node = graph.origin(TensorId(todo.pop(), 0)).node
        is_sum = graph.type(node) in ("Add", "AddV2", "AddN")
        if gradient_names.GRADIENTS.search(node) and (is_sum or gradient_names.is_gradient_op(node)):
            return True
        if is_sum and node not in seen:
            seen.add(node)
            todo += [tensor.node for tensor in graph.inputs(node)]
    return False


def gradient_starts(graph: Graph, members: Collection[str]) -> dict[str, list[str]]:
    """Returns what `differentiations` does, with the gradient graphs that are differentiated again, and empty ones."""
    starts: dict[str, list[str]] = {}
    for root, scope in _roots(graph):
        if root not in members:
            continue
        named: list[str] = []
        nameless: set[str] = set()
        for user, _, _ in graph.users(root):
            forward = gradient_names.forward_name_in(user, scope, graph.nodes) if user in members else None
            if forward is not None and forward in graph.nodes:
                named.append(forward)
            elif user in members and user.startswith(scope) and graph.type(user) == "AddN":
                nameless.add(user)
        starts[root] = _sum_of(graph, list(dict.fromkeys(named)), len(nameless))
    return starts


@functools.lru_cache(maxsize=2)  # of a whole graph and the one cut from it, which many questions are about
def _roots(graph: Graph) -> list[tuple[str, str]]:
    """(node, name scope) of what the names tell to be starts of gradient graphs, in the order of the graph."""
    scopes = [(name, gradient_names.gradient_scope(name)) for name in graph.nodes]
    return [(name, scope) for name, scope in scopes if scope is not None and not _is_no_derivative(graph, name)]


def _is_no_derivative(graph: Graph, name: str) -> bool:
    """Returns whether a node is a constant that no gradient graph starts in.

    That is a whole number, such as an axis, or zeros: the gradient of an output that nothing uses, as of one part of a
    state that a loop takes apart.
    """
    node = graph.nodes[name]
    if node.op != "Const":
        return False
    is_integer = node.attr["dtype"].type in (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)
    return is_integer or ("value" in node.attr and _is_zero(graph, name))


def _sum_of(graph: Graph, terms: list[str], nameless: int) -> list[str]:
    """Returns the node that adds some nodes up, in a list; the nodes themselves if no node does.

    Where several nodes do, as one that reports all towers' losses together, it is the one with the fewest other
    addends; then the nearest; then the one that was made last, just before it was differentiated.

    Args:
      graph: the graph.
      terms: nodes whose gradient ops take the constant.
      nameless: further addends at least, whose derivatives the constant is added to, as of a weight that is a term by
        itself and is used in another term: a sum of the terms alone is not what was meant.
    """
    if len(terms) + nameless < 2:
        return terms
    sums = _sums_over(graph, terms)
    order = {name: place for place, name in enumerate(graph.nodes)}
    others = {name: _other_addends(graph, name, set(terms)) for name in sums}
    sums = {name: away for name, away in sums.items() if others[name] >= nameless} or sums
    return [min(sums, key=lambda name: (others[name], sums[name], -order[name]))] if sums else terms


def _sums_over(graph: Graph, terms: list[str]) -> dict[str, int]:
    """Returns {node that adds some nodes up, and perhaps others: its greatest distance from one of them}."""
    distances: dict[str, dict[str, int]] = {}
    for term in terms:
        level, away = [term], 0
        while level:
            for name in level:
                distances.setdefault(name, {}).setdefault(term, away)
            users = {user for name in level for user, _, _ in graph.users(name)}
            level = [u for u in users if graph.type(u) in PASSES_DERIVATIVE and term not in distances.get(u, {})]
            away += 1
    return {name: max(found.values()) for name, found in distances.items() if len(found) == len(terms)}


def _other_addends(graph: Graph, name: str, terms: Collection[str]) -> int:
    """Returns how many addends a sum has besides some terms; a term alone is no sum, and has none."""
    others, todo, seen = 0, [name] if name not in terms else [], {name}
    while todo:
        sum_ = todo.pop()
        for addend in {tensor.node for tensor in graph.inputs(sum_)} - seen - set(terms):
            seen.add(addend)
            if graph.type(addend) in PASSES_DERIVATIVE:
                todo.append(addend)
            else:
                others += 1
    return others


def without_zero(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the other term of a sum with a constant zero, with which programs begin to add losses up.

    Args:
      graph: the subgraph that a step runs.
      tensor: a loss.
    """
    while graph.type(tensor.node) in op_types.SUMS_OF_TWO:
        others = [term for term in graph.inputs(tensor.node) if not _is_zero(graph, term.node)]
        if len(others) != 1:
            return tensor
        tensor = others[0]
    return tensor


def _is_zero(graph: Graph, name: str) -> bool:
    node = graph.nodes[name]
    return node.op == "Const" and not np.any(tf.make_ndarray(node.attr["value"].tensor))
