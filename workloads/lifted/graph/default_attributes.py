"""Attributes of nodes that have their default value: a file leaves them out, and who reads it adds those that it knows.

A graph that a newer TensorFlow wrote then runs in an older one, whose ops have fewer attributes, as long as it needs
none of the new ones; TensorFlow's own `strip_default_attrs` is for the same.
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, Tuple

from workloads.lifted.graph.old_ops import registered_op


def add_default_attributes(graph_def: Any) -> None:
    """Gives each node the attributes that it lacks and that have a default, as TensorFlow does when it imports a graph.

    A graph may be saved without them, or by a version in which an op had fewer attributes.
    """
    for node, attribute in _attributes_with_default(graph_def):
        if attribute.name not in node.attr:
            node.attr[attribute.name].CopyFrom(attribute.default_value)


def strip_default_attributes(graph_def: Any) -> None:
    """Removes each node's attributes that have their default value."""
    for node, attribute in _attributes_with_default(graph_def):
        if attribute.name in node.attr and node.attr[attribute.name] == attribute.default_value:
            del node.attr[attribute.name]


def _attributes_with_default(graph_def: Any) -> Iterator[Tuple[Any, Any]]:
    """Yields (node, definition of one of its op's attributes) for those with a default, in functions as well."""
    known: Dict[str, Any] = {}
    for node in itertools.chain(graph_def.node, *(function.node_def for function in graph_def.library.function)):
        if node.op not in known:
            op = registered_op(node.op)
            known[node.op] = [attribute for attribute in op.attr if attribute.HasField("default_value")] if op else []
        for attribute in known[node.op]:
            yield node, attribute
