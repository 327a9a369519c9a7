"""Takes a function out of an old graph: from some tensors, the cuts, to others, the fetches.

Reads of variables become inputs, so that no variable of the old graph survives: a resource variable's read becomes
the value itself, a gather from its handle a gather from the value. Random ops become their stateless twins with a key
as input, or inputs. Devices and colocation go; control edges stay only inside `while` and `cond`, where they say
which frame a node belongs to. (A data source that is imported but not used would be run all the same, and a
gradient's `while` loop cannot be made anew: so pieces are cut out and never rebuilt.)
"""

from __future__ import annotations

import collections
import re

import tensorflow as tf

from workloads.lifted.graph import CONTROL_FLOW, SWITCHES, forget_placement, split, tensor_name
from workloads.lifted.noise import become, count_turns, seed, use_twin

v1 = tf.compat.v1

_REFERENCE = {"RefEnter": "Enter", "RefExit": "Exit", "RefSwitch": "Switch", "RefIdentity": "Identity"}
_PASSES = ("Enter", "RefEnter", "Switch", "RefSwitch", "Exit", "RefExit")


class Feed(collections.namedtuple("Feed", "kind key placeholder")):
    """One input of a piece.

    `kind` and `key`: "cut" and a tensor's name; "read" and (variable, version); "noise" and a random node's name,
    which takes an int32 [2] key; "drawn" and a random tensor's name, which takes the numbers themselves.
    """


class Piece(collections.namedtuple("Piece", "graph_def feeds fetches")):
    """A function as a GraphDef; `feeds` are `Feed`s, `fetches` names of tensors in it."""


class Cutter:
    """Cuts pieces out of one graph.

    Args:
      graph: `graph.Graph`.
      aliases: {tensor name: variable} of tensors that are a variable or its handle.
      variables: {variable: (dtype's name, shape)}; a shape is None where it is not known.
      signature: function from a tensor's name to (dtype's name, shape).
      random: {random node: "keyed", "seeded" or "drawn"}.
      loops: {random node: [frame's name, counter's tensor]} of those that draw anew in each turn of a `while` loop.
    """

    def __init__(self, graph, aliases, variables, signature, random, loops=None):
        self._graph = graph
        self._aliases = {split(tensor): variable for tensor, variable in aliases.items()}
        self._variables = variables
        self._signature = signature
        self._random = random
        self._loops = loops or {}
        self._conditional = graph.frames() | graph.branches()

    def with_signature(self, signature):
        """The same with other knowledge of tensors' types."""
        other = Cutter.__new__(Cutter)
        other.__dict__.update(self.__dict__, _signature=signature)
        return other

    def piece(self, fetches, cuts=(), versions=None, taken=()):
        """The `Piece` that computes some tensors.

        Args:
          fetches: names of tensors; (name, node) for one as that node uses it, if it may be a variable.
          cuts: names of tensors that are given.
          versions: {(node, variable): version}, where it is not 0.
          taken: [(predicate's tensor, True or False)] of `cond` branches that are computed as if taken.
        """
        work = _Work(self._graph, {split(cut) for cut in cuts}, versions or {})
        work.taken = {(self._graph.origin(split(predicate)), int(branch)) for predicate, branch in taken}
        ends = [(fetch, None) if isinstance(fetch, str) else fetch for fetch in fetches]
        names = [_full(self._reach(work, user, split(tensor))) for tensor, user in ends]
        while work.todo:
            self._add(work, work.todo.pop())
        library = self._graph.graph_def.library
        functions = {function.signature.name for function in library.function}
        if any(node.op in functions or _has_function(node) for node in work.result.node):
            work.result.library.CopyFrom(library)
        return Piece(work.result, list(work.feeds.values()), names)

    def _reach(self, work, user, tensor):
        """The name by which `user` gets a tensor: a feed's placeholder, or the node itself, which is then added."""
        name, output = tensor
        node = self._graph.nodes[name]
        if tensor in work.cuts:
            return self._feed_tensor(work, "cut", tensor)
        passes = node.op in _PASSES and (node.op not in SWITCHES or output not in {b for _, b in work.taken})
        if tensor in self._aliases and not passes:
            variable = self._aliases[tensor]
            version = work.versions.get((user, variable), 0)
            return work.feed("read", (variable, version), *self._variables[variable])
        if node.op in SWITCHES and (self._graph.origin(self._graph.inputs(name)[1]), output) in work.taken:
            return self._reach(work, name, self._graph.inputs(name)[0])
        if self._random.get(name) == "drawn":
            return self._feed_tensor(work, "drawn", tensor)
        if name not in work.seen:
            work.seen.add(name)
            work.todo.append(name)
        return name if output == 0 else f"{name}:{output}"

    def _feed_tensor(self, work, kind, tensor):
        name = tensor_name(*tensor)
        return work.feed(kind, name, *self._signature(name))

    def _add(self, work, name):
        node = v1.NodeDef()
        node.CopyFrom(self._graph.nodes[name])
        forget_placement(node)
        inputs = self._graph.inputs(name)
        del node.input[:]
        node.input.extend(self._reach(work, name, tensor) for tensor in inputs)
        if inputs and inputs[0] in self._aliases:
            self._use_value(work, node, tf.as_dtype(self._variables[self._aliases[inputs[0]]][0]).as_datatype_enum)
        if name in self._random:
            self._derandomize(work, node)
        for control in self._graph.controls(name):
            if self._keeps(name, control):
                node.input.append("^" + self._reach(work, name, (control, 0)))
        work.result.node.add().CopyFrom(node)

    def _keeps(self, name, control):
        """Whether a control edge says which frame or branch a node is in, or orders a loop's own stacks."""
        inside = control in self._conditional or self._graph.type(control) in CONTROL_FLOW
        return inside and self._graph.type(control) not in ("Assert", "Print", "PrintV2")

    def _use_value(self, work, node, dtype):
        """Rewrites an op on a variable's handle or reference into one on its value."""
        if node.op == "ReadVariableOp":
            become(node, "Identity", {"T": dtype})
        elif node.op == "ResourceGather":
            axis = work.constant(node.name + "/axis", 0)
            indices = node.attr["Tindices"].type
            become(node, "GatherV2", {"Tparams": dtype, "Tindices": indices, "Taxis": tf.int32.as_datatype_enum})
            node.input.append(axis)
        elif node.op == "ResourceGatherNd":
            become(node, "GatherNd", {"Tparams": dtype, "Tindices": node.attr["Tindices"].type})
        elif node.op == "VariableShape":
            become(node, "Shape", {"T": dtype, "out_type": node.attr["out_type"].type or 3})
        elif node.op in _PASSES + ("RefIdentity",):
            node.op = _REFERENCE.get(node.op, node.op)
            node.attr["T"].type = dtype

    def _derandomize(self, work, node):
        how = self._random[node.name]
        if how == "seeded":
            seed(node)
        elif how == "keyed":
            key = work.feed("noise", node.name, "int32", (2,))
            if node.name in self._loops:
                frame, counter = self._loops[node.name]
                key = count_turns(work.result, node.name, key, frame, self._reach(work, node.name, split(counter)))
            use_twin(node, key)


class _Work:
    """A piece in the making."""

    def __init__(self, graph, cuts, versions):
        self.graph = graph
        self.cuts = cuts
        self.versions = versions
        self.taken = set()
        self.result = v1.GraphDef(versions=graph.graph_def.versions)
        self.seen = set()
        self.todo = []
        self.feeds = collections.OrderedDict()

    def feed(self, kind, key, dtype, shape):
        """The name of the placeholder for an input."""
        if (kind, key) not in self.feeds:
            name = "feed_{}_{}".format(len(self.feeds), re.sub(r"[^A-Za-z0-9_]", "_", str(key)))
            self.feeds[kind, key] = Feed(kind, key, name)
            node = self.result.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        return self.feeds[kind, key].placeholder

    def constant(self, name, value):
        """The name of a new int32 constant."""
        node = self.result.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        node.attr["value"].tensor.dtype = tf.int32.as_datatype_enum
        node.attr["value"].tensor.tensor_shape.SetInParent()
        node.attr["value"].tensor.int_val.append(value)
        return name


def _full(name):
    return tensor_name(*split(name))


def _has_function(node):
    return any(value.WhichOneof("value") == "func" for value in node.attr.values())
