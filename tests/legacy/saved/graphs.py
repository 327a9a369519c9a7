"""Builds graphs of a few nodes for unit tests: from a text with one node a line, or with TensorFlow's own ops."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from legacy.saved.graph.graph_file import SavedGraph
from workloads.lifted.graph import Graph

v1 = tf.compat.v1

_NODE = re.compile(r"^(?P<name>[^\s=]+)\s*=\s*(?P<op>\w+)\((?P<inputs>[^)]*)\)(?:\s*@\s*(?P<device>\S+))?$")


def graph_of(text: str, **attributes: dict[str, Any]) -> Graph:
    """Builds a `Graph` that TensorFlow need not accept: types, shapes and numbers of inputs are not checked.

    Args:
      text: one node a line, as `name = Op(input, other:1, ^control) @ /gpu:0`; the device may be left out.
      attributes: {node name: {attribute name: value}}; a value is a `tf.DType`, a `tf.TensorShape`, an array, a list of
        those, or a plain bool, int or str. Names that are no Python identifiers: `graph_of(text, **{"a/b": {...}})`.

    >>> graph = graph_of('''
    ...     x = Placeholder()
    ...     y = Square(x)
    ...     train = NoOp(^y)
    ... ''', x={"dtype": tf.float32})
    >>> graph.inputs("y") == [("x", 0)], graph.controls("train")
    (True, ['y'])
    """
    graph_def = v1.GraphDef()
    for line in filter(None, (line.strip() for line in text.splitlines())):
        found = _NODE.match(line)
        assert found, f"not a node: {line!r}"
        inputs = [name.strip() for name in found["inputs"].split(",") if name.strip()]
        node = graph_def.node.add(name=found["name"], op=found["op"], device=found["device"] or "", input=inputs)
        for name, value in attributes.get(found["name"], {}).items():
            set_attribute(node, name, value)
    unknown = set(attributes) - {node.name for node in graph_def.node}
    assert not unknown, f"attributes of no node: {unknown}"
    return Graph(graph_def)


def set_attribute(node: v1.NodeDef, name: str, value: Any) -> None:
    """Sets one attribute of a NodeDef from a Python value; see `graph_of`."""
    attribute = node.attr[name]
    if isinstance(value, tf.DType):
        attribute.type = value.as_datatype_enum
    elif isinstance(value, tf.TensorShape):
        attribute.shape.CopyFrom(value.as_proto())
    elif isinstance(value, np.ndarray):
        attribute.tensor.CopyFrom(tf.make_tensor_proto(value))
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, tf.DType):
                attribute.list.type.append(entry.as_datatype_enum)
            else:
                attribute.list.shape.append(entry.as_proto())
    elif isinstance(value, bool):
        attribute.b = value
    elif isinstance(value, int):
        attribute.i = value
    else:
        attribute.s = value.encode("utf-8")


def traced(build: Callable[[], object], control_flow_v2: bool = False) -> Graph:
    """Returns the `Graph` that `build` makes with ops of `tf.compat.v1`, in a graph of its own.

    Args:
      build: makes the ops; its result is ignored.
      control_flow_v2: whether `cond` and `while_loop` become functions; a 1.x program has Switch, Merge and Enter.

    Returns:
      `Graph`, which TensorFlow can import.
    """
    was_v2 = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default() as graph:
            build()
        return Graph(graph.as_graph_def())
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


def saved(graph: Graph, **collections: list[str]) -> SavedGraph:
    """Returns a graph as if it had been read from a file, with the collections given."""
    return SavedGraph(graph, collections, "made for a test", "made-for-a-test.meta")


def two_towers(draws_noise: bool = False) -> None:
    """Makes ops of a program with two towers: loss_k = sum(x_k * w * noise_k), gradients averaged, one update.

    Towers stand in the name scopes tower_0 and tower_1, on /gpu:0 and /gpu:1; each takes half of the batch "x", of
    shape [4, 2]. The train op is "train".

    Args:
      draws_noise: whether towers draw `noise_k`; otherwise it is left out.
    """
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    x = v1.placeholder(tf.float32, [4, 2], name="x")
    halves = tf.split(x, 2, name="halves")
    gradients = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            product = tf.multiply(halves[tower], w, name="product")
            if draws_noise:
                product = tf.multiply(product, v1.random_uniform([2, 2], name="noise"), name="noisy")
            loss = tf.reduce_sum(product, name="loss")
            gradients.append(tf.gradients(loss, [w])[0])
    mean = tf.multiply(tf.add_n(gradients, name="total"), 0.5, name="mean")
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=mean, name="train")
