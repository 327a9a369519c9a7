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

import operator
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from legacy.saved.graph.op_types import ASKS_INITIALIZED, VARIABLES, is_apply
from workloads.lifted.graph import MERGES, Graph, TensorId, input_text, parse_tensor_name
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1
#: At least the number of outputs of any op that can be inside a branch.
OUTPUTS = 64
SETTINGS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
#: Names of boolean placeholders that say whether the model trains.
TRAINING = re.compile(r"(?i)train|phase|is_learn|is_tr")

#: Ops that compare two numbers.
COMPARISONS = {
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Less": operator.lt,
    "LessEqual": operator.le,
}

_SWITCHES = ("Switch", "RefSwitch")
#: Ops whose result has the value of their first input, in each element.
_OF_FIRST = ("Identity", "ReadVariableOp", "ExpandDims", "Reshape", *_SWITCHES)


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
    for rule in [node for node in graph.nodes if is_apply(graph.type(node)) and graph.inputs(node)]:
        variable = graph.inputs(rule)[0]
        if graph.type(variable.node) in _SWITCHES and graph.origin(graph.inputs(variable.node)[1]).node == name:
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
    return Graph(_folded(graph, values, _Branches(graph, decided_predicates(graph, values))))


def fold_initialized(graph: Graph, targets: Collection[str]) -> Graph:
    """Returns a graph in which all variables that a step asks are initialized, as they are behind a checkpoint.

    Args:
      graph: the whole graph.
      targets: train ops.
    """
    asked = [name for name in sorted(graph.ancestors(targets)) if graph.type(name) in ASKS_INITIALIZED]
    return fold_values(graph, {name: np.array(True) for name in asked})


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


def decided_predicates(graph: Graph, values: Mapping[str, np.ndarray]) -> dict[TensorId, bool]:
    """Returns {tensor: its truth} of the settings and of what is computed from settings and constants alone.

    Followed are logical ops, comparisons of numbers and casts.
    """
    decided = {TensorId(name, 0): value.item() for name, value in values.items() if value.dtype.kind in "biu"}
    for name in graph.order(set(graph.nodes)):
        inputs = graph.inputs(name)
        if any(tensor in decided for tensor in inputs):
            known = [decided[tensor] if tensor in decided else scalar_number(graph, tensor.node) for tensor in inputs]
            value = _outcome(graph.nodes[name], known)
            if value is not None:
                decided[TensorId(name, 0)] = value
                if graph.type(name) in _SWITCHES:
                    decided[TensorId(name, 1)] = value
    return {tensor: value for tensor, value in decided.items() if isinstance(value, bool)}


def scalar_number(graph: Graph, name: str) -> bool | int | float | None:
    """Returns the number that a scalar Const holds; None for any other node."""
    node = graph.nodes[name]
    if node.op != "Const" or node.attr["value"].tensor.tensor_shape.dim or not _is_number(node.attr["dtype"].type):
        return None
    number: bool | int | float = tf.make_ndarray(node.attr["value"].tensor).item()
    return number


def _is_number(dtype: int) -> bool:
    found = tf.as_dtype(dtype)
    return bool(found.is_bool or found.is_integer or found.is_floating)


def _outcome(node: NodeDef, known: list[Any]) -> bool | int | float | None:
    """Returns what a logical op, a comparison or a copy makes of its inputs' values; None if one is not known.

    The outputs of a Switch have the value of its data input, where they have one, and all elements of a reshaped or
    expanded value are that value.
    """
    if None in known[:1] or (None in known and node.op not in _OF_FIRST):
        return None
    if node.op in _OF_FIRST:
        return known[0]
    if node.op == "Cast":
        return bool(known[0]) if node.attr["DstT"].type == tf.bool.as_datatype_enum else known[0]
    if node.op == "LogicalNot":
        return not known[0]
    if node.op == "LogicalAnd":
        return all(known)
    if node.op == "LogicalOr":
        return any(known)
    if node.op in COMPARISONS:
        return bool(COMPARISONS[node.op](*known))
    return None


class _Branches:
    """The parts of a graph that decided predicates rule out.

    Args:
      graph: the graph.
      predicates: {tensor: its truth}.

    Attributes:
      dead: outputs that are never computed.
      replaced: {output of a Switch, Merge or Select: the tensor that takes its place}.
      numbers: {node that takes the place of a Merge's second output: its value}.
    """

    def __init__(self, graph: Graph, predicates: Mapping[TensorId, bool]) -> None:
        self._graph = graph
        self.dead: set[TensorId] = set()
        self.replaced: dict[TensorId, TensorId] = {}
        self.numbers: dict[str, int] = {}
        self._decided: dict[TensorId, Any] = dict(predicates)
        for name in graph.order(set(graph.nodes)):
            op_type, inputs = graph.type(name), graph.inputs(name)
            if op_type in _SWITCHES and isinstance(self._decided.get(inputs[1]), bool):
                self._decide_switch(name, inputs[0], int(self._decided[inputs[1]]))
            elif op_type in MERGES and any(tensor in self.dead for tensor in inputs):
                self._decide_merge(name, [tensor for tensor in inputs if tensor not in self.dead])
            elif op_type == "Select" and isinstance(self._decided.get(inputs[0]), bool):
                self.replaced[TensorId(name, 0)] = inputs[1 if self._decided[inputs[0]] else 2]
            elif self._needs_dead(name):
                self.dead |= {TensorId(name, output) for output in range(OUTPUTS)}
            elif self.numbers and any(tensor in self._decided for tensor in inputs):
                self._decide_value(name)

    def _decide_switch(self, name: str, data: TensorId, taken: int) -> None:
        self.dead.add(TensorId(name, 1 - taken))
        self.replaced[TensorId(name, taken)] = data
        if data in self.dead:
            self.dead.add(TensorId(name, taken))

    def _decide_merge(self, name: str, live: list[TensorId]) -> None:
        if len(live) == 1:
            number = name + "/value_index"
            while number in self._graph.nodes:
                number += "_"
            self.replaced[TensorId(name, 0)] = live[0]
            self.replaced[TensorId(name, 1)] = TensorId(number, 0)
            self.numbers[number] = self._decided[TensorId(name, 1)] = self._graph.inputs(name).index(live[0])
        elif not live:
            self.dead |= {TensorId(name, 0), TensorId(name, 1)}

    def _decide_value(self, name: str) -> None:
        """Computes what a node makes of decided values, such as a comparison of the number of a Merge's input."""
        known = [self._decided.get(t, scalar_number(self._graph, t.node)) for t in self._graph.inputs(name)]
        value = _outcome(self._graph.nodes[name], known)
        if value is not None:
            self._decided[TensorId(name, 0)] = value

    def _needs_dead(self, name: str) -> bool:
        """Returns whether a node has a dead data input, or a control input from a dead node."""
        return any(tensor in self.dead for tensor in self._graph.inputs(name)) or any(
            self.is_dead(control) for control in self._graph.controls(name)
        )

    def is_dead(self, name: str) -> bool:
        """Returns whether a node never runs: both of the outputs that any op in a branch may have are dead."""
        return {(name, 0), (name, 1)} <= self.dead

    def is_replaced(self, name: str) -> bool:
        """Returns whether a node is a decided Switch, Merge or Select, which other tensors take the place of."""
        return (name, 0) in self.replaced or (name, 1) in self.replaced

    def final(self, tensor: TensorId) -> TensorId:
        """Returns the tensor that takes the place of a tensor in the end; itself if none does."""
        while tensor in self.replaced:
            tensor = self.replaced[tensor]
        return tensor

    def final_control(self, name: str) -> str | None:
        """Returns the node that takes a node's place as a control input; None if the node never runs."""
        for output in (0, 1):
            if (name, output) in self.replaced:
                return self.final(TensorId(name, output)).node
        return None if self.is_dead(name) else name


def _folded(graph: Graph, values: Mapping[str, np.ndarray], branches: _Branches) -> GraphDef:
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
        del copy.input[:]
        copy.input.extend(input_text(branches.final(tensor)) for tensor in graph.inputs(name))
        controls = [branches.final_control(control) for control in graph.controls(name)]
        copy.input.extend("^" + control for control in controls if control is not None)
    read = {parse_tensor_name(text).node for node in result.node for text in node.input if text[:1] != "^"}
    for name in sorted(read & branches.numbers.keys()):
        node = v1.NodeDef(name=name)
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        result.node.add().CopyFrom(_constant(node, np.array(branches.numbers[name], np.int32)))
    return result


def _constant(node: NodeDef, value: np.ndarray) -> NodeDef:
    """Returns a Const with a placeholder's name, device and dtype."""
    made = v1.NodeDef(name=node.name, op="Const", device=node.device)
    made.attr["dtype"].type = node.attr["dtype"].type
    made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value, tf.as_dtype(node.attr["dtype"].type)))
    return made
