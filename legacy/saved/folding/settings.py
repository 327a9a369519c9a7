"""Folds settings into a graph: their placeholders become constants, and `cond` branches that they rule out go.

Settings are scalars such as is_training, keep_prob and the learning rate.

A `cond` of TensorFlow 1.x is not one op: a Switch passes its data input to output 1 if the predicate is true and to
output 0 otherwise, the ops of each branch depend on one of these outputs, and a Merge takes the input of the branch
that ran. If the predicate is decided, one output of each Switch on it is dead, and so is all that depends on it; the
other output is replaced by the Switch's input, and the Merge by its only live input. The Merge's second output, that
input's number, is decided too; second derivatives compare it, and switch on the result. A `where` whose condition is
decided is replaced by one of its values, of which it computed both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from legacy.saved.folding.branches import Branches
from legacy.saved.folding.decided import decided_predicates, scalar_number
from legacy.saved.graph.op_types import ASKS_INITIALIZED, VARIABLES, is_apply
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph, TensorId, input_text, parse_tensor_name
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1
SETTINGS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
#: Names of boolean placeholders that say whether the model trains.
TRAINING = re.compile(r"(?i)train|phase|is_learn|is_tr")


def fold_settings(graph: Graph, fed: Mapping[str, str]) -> tuple[Graph, dict[str, object]]:
    """Returns a graph with settings as constants, and without the `cond` branches that they rule out.

    A graph that has update ops is there to train, so a boolean placeholder with a name like is_training is true
    unless the user says otherwise, or it chooses between optimizers, as one of a first phase of training may.

    Args:
      graph: the whole graph of a program.
      fed: {placeholder: text of its value}.

    Returns:
      The folded `Graph`, which is `graph` itself if there are no settings, and {placeholder: value} of the settings.

    Raises:
      InputError: a name that is no placeholder, or a value that is not of its dtype.
    """
    values = {name: _value(graph, name, text) for name, text in fed.items()}
    for name, node in graph.nodes.items():
        is_switch = is_boolean_setting(node) and name not in values and TRAINING.search(name)
        if is_switch and not chooses_optimizer(graph, name):
            values[name] = np.array(True)
    return fold_values(graph, values), {name: _plain(value) for name, value in values.items()}


def chooses_optimizer(graph: Graph, name: str) -> bool:
    """Returns whether update rules stand in branches of a `cond` on a placeholder, and some run for each of its values.

    Args:
      graph: the whole graph.
      name: of a boolean placeholder.
    """
    entered = set()
    for rule in [node for node in graph.of_kind(is_apply) if graph.inputs(node)]:
        variable = graph.inputs(rule)[0]
        if graph.type(variable.node) in TWO_WAY_SWITCHES and graph.origin(graph.inputs(variable.node)[1]).node == name:
            entered.add(variable.output)
    return entered == {0, 1}


def _plain(value: np.ndarray) -> object:
    """Returns a scalar as Python has it, and a float with no more digits than its dtype has: 0.9, not 0.899999976."""
    return float(str(value)) if value.dtype.kind == "f" else value.tolist()


def fold_values(graph: Graph, values: Mapping[str, np.ndarray]) -> Graph:
    """Returns a graph with values folded into it; itself if there are none.

    Args:
      graph: the whole graph.
      values: {placeholder, or variable that is a switch: value}; a variable stays, but what it decides is decided.
    """
    if not values:
        return graph
    return Graph(_folded(graph, values, Branches(graph, decided_predicates(graph, values))))


def fold_known(graph: Graph, targets: Collection[str]) -> Graph:
    """Returns a graph without the branches that its steps never take.

    All variables that a step asks are initialized, as they are behind a checkpoint, and a predicate may be a constant,
    as of `tf.cond(tf.constant(True), ...)`.

    Args:
      graph: the whole graph.
      targets: train ops.
    """
    members = sorted(graph.ancestors(targets))
    values = {name: np.array(True) for name in members if graph.type(name) in ASKS_INITIALIZED}
    for switch in [name for name in members if graph.type(name) in TWO_WAY_SWITCHES]:
        predicate = graph.origin(graph.inputs(switch)[1]).node
        truth = scalar_number(graph, predicate)
        if isinstance(truth, bool):
            values[predicate] = np.array(truth)
    return fold_values(graph, values)


def is_boolean_setting(node: NodeDef) -> bool:
    """Returns whether a node is a boolean placeholder."""
    return node.op in SETTINGS and node.attr["dtype"].type == tf.bool.as_datatype_enum


def can_be_switch(node: NodeDef) -> bool:
    """Returns whether a placeholder or variable is boolean or a whole number, by its dtype."""
    dtype = tf.as_dtype(node.attr["dtype"].type)
    return bool(dtype.is_bool or dtype.is_integer)


def _value(graph: Graph, name: str, text: str) -> np.ndarray:
    """Returns the value that a user's text gives to a placeholder, in the placeholder's dtype."""
    node = graph.nodes.get(name)
    is_switch = node is not None and node.op in VARIABLES and can_be_switch(node)
    if node is None or (node.op not in SETTINGS and not is_switch):
        raise InputError(f"--feed: got {name!r}, no such placeholder in the graph")
    dtype = tf.as_dtype(node.attr["dtype"].type)
    words = {"true": True, "false": False}
    try:
        return np.array(words.get(text.lower(), text) if dtype == tf.bool else text).astype(dtype.as_numpy_dtype)
    except ValueError as error:
        raise InputError(f"--feed: got {name}={text!r}, expected a {dtype.name} scalar") from error


def _folded(graph: Graph, values: Mapping[str, np.ndarray], branches: Branches) -> GraphDef:
    """Returns the GraphDef with constants for `values`, without dead nodes and decided Switch, Merge and Select."""
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    for name, node in graph.nodes.items():
        if branches.is_dead(name) or (branches.is_replaced(name) and name not in values):
            continue
        if name in values and node.op in SETTINGS:
            result.node.add().CopyFrom(_constant(node, values[name]))
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.input[:] = [input_text(branches.final(tensor)) for tensor in graph.inputs(name)]
        controls = [branches.final_control(control) for control in graph.controls(name)]
        copy.input.extend("^" + control for control in controls if control is not None)
    for name, switch in branches.copies.items():
        result.node.add().CopyFrom(_copy(graph.nodes[switch], name, branches.final(graph.inputs(switch)[0])))
    read = {parse_tensor_name(text).node for node in result.node for text in node.input if text[:1] != "^"}
    made = {name: np.array(number, np.int32) for name, number in branches.numbers.items()}
    made.update((name, np.array(truth)) for name, truth in branches.truths.items())
    for name in sorted(read & made.keys()):
        node = v1.NodeDef(name=name)
        node.attr["dtype"].type = tf.as_dtype(made[name].dtype).as_datatype_enum
        result.node.add().CopyFrom(_constant(node, made[name]))
    return result


def _copy(switch: NodeDef, name: str, data: TensorId) -> NodeDef:
    """Returns an Identity of what a Switch would pass on."""
    made = v1.NodeDef(name=name, op="Identity", device=switch.device, input=[input_text(data)])
    made.attr["T"].CopyFrom(switch.attr["T"])
    return made


def _constant(node: NodeDef, value: np.ndarray) -> NodeDef:
    """Returns a Const with a placeholder's name, device and dtype."""
    made = v1.NodeDef(name=node.name, op="Const", device=node.device)
    made.attr["dtype"].type = node.attr["dtype"].type
    made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value, tf.as_dtype(node.attr["dtype"].type)))
    return made
