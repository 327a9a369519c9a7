"""Sums of three and more terms, added in the order in which a graph lists them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from workloads.lifted.graph.tensor_names import control_inputs

#: An AddN of so few terms has one result in any order.
FEWEST_IN_ANY_ORDER = 2


def add_in_order(graph_def: Any) -> None:
    """Replaces each AddN of three or more terms of a GraphDef, in place, by additions in the order of its inputs.

    TensorFlow's kernel begins with the input whose memory it may use for the result. Which one that is depends on what
    else still needs the inputs, such as a fetch, so that two runs of one graph may round differently. TensorFlow 0.12
    added in order.

    >>> graph_def = tf.compat.v1.GraphDef()
    >>> node = graph_def.node.add(name="sum", op="AddN", input=["x", "y", "z"])
    >>> node.attr["T"].type = tf.float32.as_datatype_enum
    >>> add_in_order(graph_def)
    >>> [(node.name, node.op, list(node.input)) for node in graph_def.node]
    [('sum', 'AddV2', ['sum/in_order_1', 'z']), ('sum/in_order_1', 'AddV2', ['x', 'y'])]
    """
    for node in list(graph_def.node):
        terms = [text for text in node.input if text[:1] != "^"]
        if (
            node.op == "AddN"
            and len(terms) > FEWEST_IN_ANY_ORDER
            and node.attr["T"].type != tf.variant.as_datatype_enum
        ):
            _replace(graph_def, node, terms)


def _replace(graph_def: Any, node: Any, terms: list[str]) -> None:
    """Makes a node the last of a chain of additions, each of which waits for what the node waited for."""
    controls = control_inputs(node)
    total = terms[0]
    for number, term in enumerate(terms[1:-1], 1):
        name = f"{node.name}/in_order_{number}"
        added = graph_def.node.add(name=name, op="AddV2", input=[total, term, *controls], device=node.device)
        added.attr["T"].CopyFrom(node.attr["T"])
        total = name
    node.op = "AddV2"
    node.input[:] = [total, terms[-1], *controls]
    node.attr.pop("N", None)
