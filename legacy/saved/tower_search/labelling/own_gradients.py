"""Candidate labelling by backward passes: each tower differentiates a loss of its own, and an update joins the results.

A loop over the towers need not open a device or a name scope. Its numbers of ops then tell nothing, since what is built
once, as a normalization of the weights, counts them on. What remains is the data flow: a gradient of each tower, made
by a `tf.gradients` of its own, enters what every weight's update takes, in the order of the loop.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from legacy.saved.tower_search.labelling.labellings import MOST_TOWERS, Labelling, Source
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names


def labellings_by_gradients(graph: Graph, update_inputs: Sequence[TensorId]) -> Iterator[Labelling]:
    """Yields the labelling by backward passes, if the updates join as many of them for each weight, and they are alike.

    A node has the number of the only passes that depend on it; one that several depend on has none.

    Args:
      graph: the subgraph that a step runs.
      update_inputs: tensors that update ops take.
    """
    scopes = gradient_scopes(graph)
    joined = [_scopes_before(graph, tensor.node, scopes) for tensor in update_inputs]
    numbers = _numbers([found for found in joined if len(found) > 1])
    if not 2 <= len(set(numbers.values())) <= MOST_TOWERS:
        return
    tops: dict[int, set[str]] = collections.defaultdict(set)
    for name in graph.nodes:
        number = numbers.get(_scope_of(name, scopes))
        if number is not None:
            tops[number].add(name)
    labels: dict[str, int] = {}
    several: set[str] = set()
    for number, names in tops.items():
        needed = graph.ancestors(names, controls=False)
        several |= labels.keys() & needed
        labels.update(dict.fromkeys(needed, number))
    labels = {name: number for name, number in labels.items() if name not in several}
    if _are_copies(graph, labels):
        yield Labelling(Source.GRADIENTS, "backward passes of their own", labels)


def _are_copies(graph: Graph, labels: Mapping[str, int]) -> bool:
    """Returns whether all labels have as many ops of each type, with the same constants.

    Losses of two kinds, as of real examples and of generated ones, may be differentiated by themselves, too.
    """
    counts: dict[int, collections.Counter[tuple[str, bytes]]] = collections.defaultdict(collections.Counter)
    for name, label in labels.items():
        node = graph.nodes[name]
        value = node.attr["value"].tensor.SerializeToString(deterministic=True) if node.op == "Const" else b""
        counts[label][node.op, value] += 1
    return all(found == counts[0] for found in counts.values())


def gradient_scopes(graph: Graph) -> list[str]:
    """Returns the name scopes of a graph's `tf.gradients`, which each begin at a derivative of a loss by itself."""
    return sorted({scope for scope in map(gradient_names.gradient_scope, graph.nodes) if scope is not None}, key=len)


def _scope_of(name: str, scopes: Sequence[str]) -> str:
    """Returns the outermost of some scopes that a gradient op is in: a derivative inside of a loss lies in another."""
    if not gradient_names.is_gradient_op(name):
        return ""
    return next((scope for scope in scopes if name.startswith(scope)), "")


def _scopes_before(graph: Graph, name: str, scopes: Sequence[str]) -> tuple[str, ...]:
    """Returns the scopes of the nearest gradient ops before a node, in the order in which its operands have them."""
    found: dict[str, None] = {}
    seen, todo = {name}, [name]
    while todo:
        one = todo.pop()
        scope = _scope_of(one, scopes)
        if scope:
            found[scope] = None
            continue
        before = [tensor.node for tensor in graph.inputs(one)]
        todo += [other for other in reversed(before) if other not in seen]
        seen.update(before)
    return tuple(found)


def _numbers(joined: Sequence[tuple[str, ...]]) -> Mapping[str, int]:
    """Returns {scope: its place among those that are joined}; {} if the weights do not agree on it."""
    places: dict[str, set[int]] = collections.defaultdict(set)
    for scopes in joined:
        for place, scope in enumerate(scopes):
            places[scope].add(place)
    if len({len(scopes) for scopes in joined}) > 1 or any(len(found) > 1 for found in places.values()):
        return {}
    return {scope: found.pop() for scope, found in places.items()}
