"""Uses of a graph's variables: the nodes that read each of them, and the nodes that change it."""

from __future__ import annotations

import collections
from collections.abc import Collection
from typing import NamedTuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import Branch, predicates_of
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.shared_memory import shares_memory
from legacy.saved.graph.trained import gradient_assignments
from workloads.lifted.graph import MERGES, Graph, TensorId
from workloads.support.errors import InputError


class GraphVariable(NamedTuple):
    """A variable of a graph.

    Attributes:
      name: of its node.
      shape: static shape with -1 for unknown dimensions; None for an unknown rank.
      dtype: name of the dtype.
      resource: whether it is a resource variable; a reference variable otherwise.
    """

    name: str
    shape: list[int] | None
    dtype: str
    resource: bool


class VariableUses:
    """Reads and writes of the variables of a graph.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      trainable: names of trainable variables, or empty if they are not known.

    Attributes:
      variables: {node: `GraphVariable`}.
      aliases: {tensor: variable} of the tensors that are a variable itself, its handle, or share its memory. In 1.x
        reading a reference variable copies nothing, so its value is the one at the time of each *use* of an alias.
      writes: {node: variables that it changes, in the order of its inputs}.
      reads: {node: variables whose value it uses}.
      view_uses: {node: reference variables that it uses a view of, such as a reshaped one, which shares their memory}.
      passes: {node: variables that it hands on, by handle or reference, into or out of a branch or a loop}.
      rules: the writing nodes that train: update rules, and assignments of gradients to trainable variables.

    Raises:
      InputError: a Merge chooses between several variables at run time.
    """

    def __init__(self, graph: Graph, imported: ImportedGraph, trainable: Collection[str] = ()) -> None:
        self._graph, self._imported = graph, imported
        self.variables: dict[str, GraphVariable] = collections.OrderedDict()
        self.aliases: dict[TensorId, str] = {}
        self.writes: dict[str, list[str]] = collections.OrderedDict()
        self.reads: dict[str, list[str]] = collections.OrderedDict()
        self.view_uses: dict[str, list[str]] = collections.OrderedDict()
        self.passes: dict[str, list[str]] = collections.OrderedDict()
        self._merged: dict[str, str] = {}
        for name in graph.nodes:
            if graph.type(name) in op_types.VARIABLES:
                self.variables[name] = _variable(graph, name)
                self._follow(name, TensorId(name, 0))
        self._follow_into_branches()
        for name, written in self.writes.items():
            taken = [self.aliases.get(tensor, "") for tensor in graph.inputs(name)]
            written.sort(key=taken.index)  # slots may have been made in another order than the update rule takes them
        by_hand = gradient_assignments(graph, trainable)
        self.rules = {name for name in self.writes if op_types.is_apply(graph.type(name)) or name in by_hand}

    def _follow(self, variable: str, start: TensorId) -> None:
        """Records every use of a variable by way of one of its aliases."""
        todo = [start]
        while todo:
            tensor = todo.pop()
            if tensor in self.aliases:
                continue
            self.aliases[tensor] = variable
            for user, position, output in self._graph.users(tensor.node):
                if output == tensor.output:
                    todo += self._record_use(variable, user, position)

    def _follow_into_branches(self) -> None:
        """Takes values that enter a branch which updates their variable for the variable itself.

        A Switch copies nothing either: behind the update, as where a copy of new weights is made, they are new.
        """
        written: dict[str, set[Branch]] = collections.defaultdict(set)
        for name, variables in self.writes.items():
            for variable in variables:
                written[variable] |= predicates_of(self._graph, name)
        for name in [name for name in self.reads if self._graph.type(name) == "Switch"]:
            variable = self.aliases.get(self._graph.inputs(name)[0], "")
            users = {use.node for use in self._graph.users(name)}
            entered = {branch for user in users for branch in predicates_of(self._graph, user)}
            if variable and not self.variables[variable].resource and not entered.isdisjoint(written[variable]):
                del self.reads[name]
                self.passes[name] = [variable]
                for output in range(self._imported.outputs(name)):
                    self._follow(variable, TensorId(name, output))

    def _record_use(self, variable: str, user: str, position: int) -> list[TensorId]:
        """Records one use of a variable; returns the user's outputs that are aliases of the variable."""
        if self._imported.takes_reference(user, position):
            return self._record_reference(variable, user, position)
        if self._graph.type(user) == "Identity":
            return [TensorId(user, 0)]
        if variable not in self.reads.setdefault(user, []):
            self.reads[user].append(variable)
        if shares_memory(self._graph, self._imported, user, position):
            self._follow_view(variable, user)
        return []

    def _follow_view(self, variable: str, view: str) -> None:
        """Records every use of a tensor that shares a reference variable's memory."""
        todo = [view]
        while todo:
            for user, position, _ in self._graph.users(todo.pop()):
                if shares_memory(self._graph, self._imported, user, position):
                    todo.append(user)
                elif variable not in self.view_uses.setdefault(user, []):
                    self.view_uses[user].append(variable)

    def _record_reference(self, variable: str, user: str, position: int) -> list[TensorId]:
        """Records a use of a variable's reference or handle; returns the outputs that are aliases of it."""
        op_type = self._graph.type(user)
        if op_type in op_types.HANDLE_PASSES:
            self.passes.setdefault(user, []).append(variable)
            return [TensorId(user, output) for output in range(self._imported.outputs(user))]
        if op_type in op_types.RESOURCE_READS:
            self.reads.setdefault(user, []).append(variable)
            return []
        if op_type in op_types.NOT_EFFECTS:
            return []
        if op_type in MERGES:
            return self._record_merge(variable, user)
        self.writes.setdefault(user, []).append(variable)
        # An effect on several variables passes the first one's reference on.
        gives_reference = any(argument.is_ref for argument in self._imported.definition(user).output_arg)
        return [TensorId(user, 0)] if gives_reference and position == 0 else []

    def _record_merge(self, variable: str, merge: str) -> list[TensorId]:
        """Records that a variable comes out of a Merge; one of the same variable, changed in both branches, is it."""
        if self._merged.setdefault(merge, variable) != variable:
            raise InputError(f"graph file: {merge!r}: one of several variables is chosen at run time")
        if variable not in self.passes.setdefault(merge, []):
            self.passes[merge].append(variable)
        return [TensorId(merge, 0)]


def _variable(graph: Graph, name: str) -> GraphVariable:
    attributes = graph.nodes[name].attr
    proto = attributes["shape"].shape
    shape = None if proto.unknown_rank else [dimension.size for dimension in proto.dim]
    dtype = tf.as_dtype(attributes["dtype"].type).base_dtype.name
    return GraphVariable(name, shape, dtype, graph.type(name) == "VarHandleOp")
