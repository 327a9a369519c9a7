"""Structures of what a graph computes: nodes that compute the same, of the same weights or of twins of them."""

from __future__ import annotations

import functools
from collections.abc import Hashable

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types

#: Attributes that say nothing of what a node computes.
_IDLE = ("_class", "_output_shapes", "container", "shared_name", "_grappler_do_not_remove")
_COPIES = ("Identity", "ReadVariableOp", "StopGradient")


@functools.lru_cache(maxsize=4)
def structures(whole: WholeGraph, of_twins: bool = False) -> dict[str, int]:
    """Returns numbers that are equal for nodes which compute the same.

    Args:
      whole: the graph.
      of_twins: whether variables of one shape, and random numbers of one kind, are taken for equal: then networks
        have equal numbers that differ in their weights alone.

    Returns:
      {node of what is minimized: its number}.
    """
    graph = whole.graph
    keys: dict[Hashable, int] = {}
    numbers: dict[str, int] = {}
    for name in graph.order(whole.minimized):
        inputs = graph.inputs(name)
        if graph.type(name) in _COPIES and inputs and inputs[0].node in numbers and not inputs[0].output:
            numbers[name] = numbers[inputs[0].node]
            continue
        own: Hashable = _own(whole, name, of_twins)
        given = tuple((numbers.get(tensor.node, tensor.node), tensor.output) for tensor in inputs)
        numbers[name] = keys.setdefault((own, given), len(keys))
    return numbers


def _own(whole: WholeGraph, name: str, of_twins: bool) -> Hashable:
    """The type and attributes of a node, or its name, without its inputs."""
    graph, node = whole.graph, whole.graph.nodes[name]
    kind = graph.type(name)
    if kind in op_types.VARIABLES:
        return (kind, str(node.attr["shape"].shape)) if of_twins else name
    if op_types.is_random(kind):
        return kind if of_twins else name
    if op_types.is_source(kind) or kind in ("Enter", "RefEnter", "Merge", "LoopCond"):
        return name
    attributes = sorted((key, value.SerializeToString()) for key, value in node.attr.items() if key not in _IDLE)
    return kind, tuple(attributes)
