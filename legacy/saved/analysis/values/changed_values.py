"""The values that a variable takes one after the other in a step, as ops of tensors in place of its changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.order.equal_rows import SETS_ROWS
from legacy.saved.analysis.values.rule_values import has_formula, value_by_rule
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, input_text

v1 = tf.compat.v1

#: {change by a tensor of the variable's shape: op that computes the new value from the old one and that tensor}.
_BY_TENSORS = {"AssignAdd": "AddV2", "AssignAddVariableOp": "AddV2", "AssignSub": "Sub", "AssignSubVariableOp": "Sub"}
#: {change of rows: op that computes the new value from the old one, the positions of the rows, and tensors for them}.
_BY_ROWS = {
    "ScatterAdd": "TensorScatterAdd",
    "ScatterSub": "TensorScatterSub",
    "ScatterUpdate": "TensorScatterUpdate",
    "ResourceScatterAdd": "TensorScatterAdd",
    "ResourceScatterSub": "TensorScatterSub",
    "ResourceScatterUpdate": "TensorScatterUpdate",
}


def is_computable(graph: Graph, imported: ImportedGraph, change: str) -> bool:
    """Returns whether the variable's value after a change follows from the value before it by ops of tensors.

    Args:
      graph: the graph with the variable.
      imported: the same graph in TensorFlow.
      change: the node that changes it.

    Returns:
      Whether it does. A change of rows by one number does not: the op for tensors takes a number for each entry.
    """
    kind = graph.type(change)
    if kind in _BY_ROWS:
        return imported.shape(*graph.inputs(change)[2]) != ()
    return kind in op_types.SETS or kind in _BY_TENSORS or has_formula(graph, change)


class ChangedValues:
    """Tensors that are the values of variables after their changes in a step.

    Args:
      graph: the graph with the variables.

    Attributes:
      made: the nodes that compute the values, to be added to the graph.
      of_rows: {change that sets rows of a value that no change before it gives: node that uses that value}.
      of_rules: {update op: node that computes the new value, from the old one and the slots as they were}.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._values: dict[tuple[str, ...], TensorId] = {}
        self._stopped: dict[tuple[str, ...], TensorId] = {}
        self.made: list[tf.compat.v1.NodeDef] = []
        self.of_rows: dict[str, str] = {}
        self.of_rules: dict[str, str] = {}

    def after(self, changes: Sequence[str]) -> TensorId:
        """Returns the value after changes; see `is_computable`.

        The first one sets the variable or its rows, or it is an update rule, and the only one.
        """
        key = tuple(changes)
        if key not in self._values:
            *before, last = changes
            given = self._graph.inputs(last)
            if has_formula(self._graph, last):
                self.made += value_by_rule(self._graph, last)
                self.of_rules[last] = self.made[-1].name
                self._values[key] = TensorId(self.of_rules[last], 0)
            elif before or self._graph.type(last) in SETS_ROWS:
                old = self.after(before) if before else self._read(last, given[0])
                self._values[key] = self._changed(last, old, given[1:])
                if not before:
                    self.of_rows[last] = self._values[key].node
            else:
                self._values[key] = given[1]
        return self._values[key]

    def without_gradient(self, changes: Sequence[str]) -> TensorId:
        """Returns the value after changes behind a StopGradient: no op that changes a variable has a derivative."""
        key = tuple(changes)
        if key not in self._stopped:
            node = self._graph.nodes[key[-1]]
            dtype = node.attr["T"].type or node.attr["dtype"].type
            self._stopped[key] = self._make(f"{key[-1]}/stopped", "StopGradient", [self.after(key)], node, T=dtype)
        return self._stopped[key]

    def _read(self, change: str, variable: TensorId) -> TensorId:
        """Makes a read of the variable before a change."""
        node, name = self._graph.nodes[change], f"{change}/before"
        by_handle = self._graph.type(change).startswith("Resource")
        dtype = {"dtype" if by_handle else "T": node.attr["dtype" if by_handle else "T"].type}
        return self._make(name, "ReadVariableOp" if by_handle else "Identity", [variable], node, **dtype)

    def _changed(self, change: str, old: TensorId, given: Sequence[TensorId]) -> TensorId:
        """Makes the nodes that compute the value after a change, which is none that sets the variable."""
        node = self._graph.nodes[change]
        dtype = node.attr["T"].type or node.attr["dtype"].type
        name = f"{change}/changed"
        if self._graph.type(change) in _BY_TENSORS:
            return self._make(name, _BY_TENSORS[node.op], [old, given[0]], node, T=dtype)
        integers = {"T": node.attr["Tindices"].type, "Tdim": tf.int32.as_datatype_enum}
        rows = self._make(f"{name}/rows", "ExpandDims", [given[0], self._last_axis(name, node)], node, **integers)
        types = {"T": dtype, "Tindices": node.attr["Tindices"].type}
        return self._make(name, _BY_ROWS[node.op], [old, rows, given[1]], node, **types)

    def _last_axis(self, name: str, near: tf.compat.v1.NodeDef) -> TensorId:
        """Makes the constant -1, an axis."""
        axis = self._make(f"{name}/axis", "Const", [], near, dtype=tf.int32.as_datatype_enum)
        self.made[-1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.int32(-1)))
        return axis

    def _make(
        self, name: str, op: str, inputs: Sequence[TensorId], near: tf.compat.v1.NodeDef, **types: int
    ) -> TensorId:
        while name in self._graph.nodes:
            name += "_"
        made = v1.NodeDef(name=name, op=op, device=near.device, input=[input_text(tensor) for tensor in inputs])
        for attribute, value in types.items():
            made.attr[attribute].type = value
        self.made.append(made)
        return TensorId(name, 0)
