"""Hazard of a classifier of copies of the same examples, which have different labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_part
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PASSES = ("Identity", "Cast", "Reshape", "Transpose")
_SIZES = ("Shape", "ShapeN", "Size", "Rank")


def equal_examples_told_apart(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies with different constant labels for copies of the same examples; one hazard for all.

    So it is where the four rotations of an image are all the image itself. What changes the copies behind their join,
    as by a list of angles, may tell them apart.
    """
    graph = whole.graph
    for entropy in cross_entropies(whole):
        labels = constant_array(graph, source_of_elements(graph, entropy.labels).node)
        if labels is None or entropy.is_sigmoid or labels.ndim != 1:
            continue
        before = graph.ancestors([entropy.logits.node], controls=False) & whole.data - made_by_weights(whole)
        for name in [name for name in graph.order(before) if graph.type(name) in ("ConcatV2", "Tile")]:
            count = _copies(whole, name)
            if count > 1 and _differ(labels, count) and _goes_to_layers(whole, name):
                yield Hazard(
                    "EQUAL_EXAMPLES_TOLD_APART",
                    name,
                    f"{name} joins {count} copies of the same examples, and {entropy.op} has different labels for "
                    "them: nothing tells them apart",
                    "change each copy as its label says, such as by a rotation; for parity keep them",
                )
                return


def _copies(whole: WholeGraph, name: str) -> int:
    """The number of times that a node has the same examples, one after the other; 0 of other joins."""
    *parts, last = whole.graph.inputs(name)
    if whole.graph.type(name) == "Tile":
        times = constant_array(whole.graph, last.node)
        return int(times[0]) if times is not None and times.size and (times[1:] == 1).all() else 0
    numbers = structures(whole)
    alike = {(numbers.get(part.node, part.node), part.output) for part in map(whole.graph.origin, parts)}
    return len(parts) if len(alike) == 1 and whole.value(last.node) == 0 else 0


def _differ(labels: np.ndarray, copies: int) -> bool:
    """Whether some example has different labels in some of its copies."""
    if labels.size % copies:
        return False
    rows = labels.reshape(copies, -1)
    return bool((rows != rows[0]).any())


def _goes_to_layers(whole: WholeGraph, name: str) -> bool:
    """Whether layers alone take examples, perhaps scaled by numbers."""
    graph, todo, has_layer = whole.graph, [name], False
    while todo:
        name = todo.pop()
        for user in {use.node for use in graph.users(name) if use.node in whole.minimized}:
            is_layer = graph.type(user) in op_types.LAYERS
            if is_gradient_op(user) or graph.type(user) in _SIZES:
                continue
            if not is_layer and graph.type(user) not in _PASSES and linear_part(whole, user) is None:
                return False
            has_layer |= is_layer
            todo += [] if is_layer else [user]
    return has_layer
