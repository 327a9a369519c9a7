"""Settles the settings of a graph (is_training, keep_prob, learning rate) and takes out the branches they rule out."""

from __future__ import annotations

import re

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph
from workloads.support.errors import InputError

v1 = tf.compat.v1
#: More than any op has that can be inside a branch.
OUTPUTS = 64
SETTINGS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
TRAINING = re.compile(r"(?i)train|phase|is_learn|is_tr")


def settle(graph, fed):
    """The graph with settings made constants and with `cond`s on them resolved.

    A graph that has update ops is there to train, so a boolean that is called something like is_training is true
    unless the user says otherwise.

    Args:
      graph: `Graph` of the whole program.
      fed: {placeholder: text of its value}.

    Returns:
      (`Graph`, {placeholder: value}) of the settled ones.

    Raises:
      InputError: a name that is no placeholder, or a value that is not of its type.
    """
    values = {name: _value(graph, name, text) for name, text in fed.items()}
    for name, node in graph.nodes.items():
        is_switch = node.op in SETTINGS and node.attr["dtype"].type == tf.bool.as_datatype_enum
        if is_switch and name not in values and TRAINING.search(name):
            values[name] = np.array(True)
    if not values:
        return graph, {}
    return Graph(_resolve(graph, values)), {name: value.tolist() for name, value in values.items()}


def _value(graph, name, text):
    node = graph.nodes.get(name)
    if node is None or node.op not in SETTINGS:
        raise InputError(f"--feed: got {name!r}, no such placeholder in the graph")
    dtype = tf.as_dtype(node.attr["dtype"].type)
    words = {"true": True, "false": False}
    try:
        return np.array(words.get(text.lower(), text) if dtype == tf.bool else text).astype(dtype.as_numpy_dtype)
    except ValueError:
        raise InputError(f"--feed: got {name}={text!r}, expected a {dtype.name} scalar")


def _resolve(graph, values):
    """GraphDef with the settled placeholders as constants; what is behind a closed switch is gone."""
    truths = _truths(graph, values)
    dead, alive = set(), {}  # dead tensors; tensor -> the tensor that stands for it
    order = graph.order(set(graph.nodes))
    for name in order:
        kind, inputs = graph.type(name), graph.inputs(name)
        if kind in ("Switch", "RefSwitch") and inputs[1] in truths:
            open_ = int(truths[inputs[1]])
            dead.add((name, 1 - open_))
            alive[name, open_] = inputs[0]
            if inputs[0] in dead:
                dead.add((name, open_))
        elif kind in ("Merge", "RefMerge") and any(tensor in dead for tensor in inputs):
            live = [tensor for tensor in inputs if tensor not in dead]
            if len(live) == 1:
                alive[name, 0] = live[0]
            elif not live:
                dead |= {(name, 0), (name, 1)}
        elif any(tensor in dead for tensor in inputs) or any({(c, 0), (c, 1)} <= dead for c in graph.controls(name)):
            dead |= {(name, output) for output in range(OUTPUTS)}
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    for name, node in graph.nodes.items():
        if (name, 0) in dead and (name, 1) in dead:
            continue
        if name in values:
            result.node.add().CopyFrom(_constant(node, values[name]))
            continue
        if (name, 0) in alive and node.op in ("Merge", "RefMerge"):
            continue
        if node.op in ("Switch", "RefSwitch") and ((name, 0) in alive or (name, 1) in alive):
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(_text(_final(alive, tensor)) for tensor in graph.inputs(name))
        for control in graph.controls(name):
            final = _control(graph, alive, dead, control)
            if final is not None:
                copy.input.append("^" + final)
    return result


def _truths(graph, values):
    """{tensor: bool} of the predicates that the settled values decide."""
    truths = {(name, 0): bool(value) for name, value in values.items() if value.dtype == bool}
    for name in graph.order(set(graph.nodes)):
        inputs = [truths.get(tensor) for tensor in graph.inputs(name)]
        if None in inputs or not inputs:
            continue
        kind = graph.type(name)
        if kind == "Identity":
            truths[name, 0] = inputs[0]
        elif kind == "LogicalNot":
            truths[name, 0] = not inputs[0]
        elif kind == "LogicalAnd":
            truths[name, 0] = all(inputs)
        elif kind == "LogicalOr":
            truths[name, 0] = any(inputs)
        elif kind in ("Switch", "RefSwitch"):
            truths[name, 0] = truths[name, 1] = inputs[0]
    return truths


def _final(alive, tensor):
    while tensor in alive:
        tensor = alive[tensor]
    return tensor


def _control(graph, alive, dead, name):
    """The node whose end a control edge waits for, once switches and merges on it are gone; None if it never runs."""
    for output in (0, 1):
        if (name, output) in alive:
            return _final(alive, (name, output))[0]
    return None if (name, 0) in dead and (name, 1) in dead else name


def _text(tensor):
    return tensor[0] if tensor[1] == 0 else "{}:{}".format(*tensor)


def _constant(node, value):
    made = v1.NodeDef(name=node.name, op="Const", device=node.device)
    made.attr["dtype"].type = node.attr["dtype"].type
    made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value, tf.as_dtype(node.attr["dtype"].type)))
    return made
