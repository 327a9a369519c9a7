"""Variables of a saved graph, who reads them and who changes them."""

from __future__ import annotations

import collections

import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.support.errors import InputError


class Variable(collections.namedtuple("Variable", "name shape dtype resource")):
    """One variable: its node's name, static shape, dtype's name, and whether it is a resource variable."""


class State:
    """What a step keeps.

    Attributes:
      variables: {node name: `Variable`}.
      aliases: {(node, output): variable} of tensors that are the variable itself, its handle, or share its memory:
        in 1.x reading a reference variable copies nothing, so a value is read where it is *used*.
      writes: {effect's node: [variables that it changes, in the order of its inputs]}.
      reads: {node: [variables whose value it uses]}.
      rules: effects that train: update rules, and plain assignments that move a trainable variable by its gradient.

    Args:
      trainable: names of trainable variables, or empty if they are not known.
    """

    def __init__(self, graph, imported, trainable=()):
        self.variables = collections.OrderedDict()
        self.aliases = {}
        self.writes = collections.OrderedDict()
        self.reads = collections.OrderedDict()
        for name in graph.nodes:
            if graph.type(name) in op_types.VARIABLES:
                self._follow(graph, imported, name)
        by_hand = op_types.moved_by_gradients(graph, trainable)
        self.rules = {name for name in self.writes if op_types.is_apply(graph.type(name)) or name in by_hand}

    def _follow(self, graph, imported, name):
        resource = graph.type(name) == "VarHandleOp"
        attributes = graph.nodes[name].attr
        shape = None if attributes["shape"].shape.unknown_rank else [d.size for d in attributes["shape"].shape.dim]
        self.variables[name] = Variable(name, shape, tf.as_dtype(attributes["dtype"].type).base_dtype.name, resource)
        todo = [(name, 0)]
        while todo:
            tensor = todo.pop()
            if tensor in self.aliases:
                continue
            self.aliases[tensor] = name
            for user, position, output in graph.users(tensor[0]):
                if output == tensor[1]:
                    todo += self._use(graph, imported, name, user, position)

    def _use(self, graph, imported, variable, user, position):
        """Notes one use of a variable; returns tensors that are the variable still."""
        kind = graph.type(user)
        if imported.takes_reference(user, position):
            if kind in op_types.HANDLE_PASSES:
                return [(user, output) for output in range(imported.outputs(user))]
            if kind in op_types.RESOURCE_READS:
                self.reads.setdefault(user, []).append(variable)
                return []
            if kind in op_types.NOT_EFFECTS:
                return []
            if kind == "Merge" or kind == "RefMerge":
                raise InputError(f"graph file: {user!r}: one of several variables is chosen at run time")
            self.writes.setdefault(user, []).append(variable)
            gives_reference = any(argument.is_ref for argument in imported.definition(user).output_arg)
            return [(user, 0)] if gives_reference and len(self.writes[user]) == 1 else []
        if kind == "Identity":
            return [(user, 0)]
        if variable not in self.reads.setdefault(user, []):
            self.reads[user].append(variable)
        return []
