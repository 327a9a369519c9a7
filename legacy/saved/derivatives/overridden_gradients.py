"""Ops whose gradient a program has overridden, by `tf.RegisterGradient` and `Graph.gradient_override_map`."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING

from workloads.lifted.tensors.gradient_names import in_gradient_graphs
from workloads.support.wording import FEW, counted, listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.graph import Graph

#: The attribute by which an op names the gradient that is registered for it.
GRADIENT_NAME = "_gradient_op_type"
#: Names that TensorFlow registers itself, with a number for each call: of `tf.custom_gradient`, and of functions.
_OWN_NAMES = re.compile(r"(CustomGradient|PartitionedCall)-\d+$")
_CUSTOM = b"CustomGradient-"


def overridden_gradients(graph: Graph, ends: Collection[str]) -> dict[tuple[str, str], list[str]]:
    """Finds the ops with an overridden gradient that some nodes are computed from.

    Args:
      graph: the graph.
      ends: names of the nodes, such as those of the towers' losses.

    Returns:
      {(op type, registered name of the gradient): names of the ops}, in the order of the graph.
    """
    named = [name for name, node in graph.nodes.items() if GRADIENT_NAME in node.attr]
    if not named:
        return {}
    members = graph.ancestors(ends, controls=False)
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for name in sorted(members.intersection(named) - in_gradient_graphs(named), key=list(graph.nodes).index):
        registered = gradient_name(graph, name)
        if registered:
            found[graph.type(name), registered].append(name)
    return dict(found)


def gradient_name(graph: Graph, name: str) -> str:
    """Returns the name by which a program has registered the gradient of a node; "" for the usual gradient."""
    node = graph.nodes[name]
    registered = str(node.attr[GRADIENT_NAME].s.decode()) if GRADIENT_NAME in node.attr else ""
    return "" if _OWN_NAMES.match(registered) or registered == node.op else registered


def is_custom_gradient(graph: Graph, name: str) -> bool:
    """Returns whether a node gives the results of a function with a `tf.custom_gradient`, and its arguments behind."""
    node = graph.nodes[name]
    return node.op == "IdentityN" and GRADIENT_NAME in node.attr and node.attr[GRADIENT_NAME].s.startswith(_CUSTOM)


def override_sentences(graph: Graph, ends: Collection[str], without: Collection[str] = ()) -> list[str]:
    """Returns a sentence for each op type and registered gradient of `overridden_gradients`.

    Args:
      graph: the graph.
      ends: names of the nodes that ops are computed for.
      without: op types that are left out.

    Returns:
      The sentences.
    """
    return [
        f"the gradient of {counted(len(names), f'op {kind}', f'ops {kind}')} is overridden by {registered!r}: "
        + listed(names, FEW)
        for (kind, registered), names in overridden_gradients(graph, ends).items()
        if kind not in without
    ]
