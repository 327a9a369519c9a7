"""Cuts a function out of an old graph: from given tensors, the cuts, to computed ones, the fetches.

Reads of variables become inputs, so that no variable of the old graph is left: a resource variable's read becomes the
value itself, a gather from its handle a gather from the value. Random ops become their stateless twins with a key as
input, or inputs themselves. Devices and colocation are removed. Control edges stay only inside `while` and `cond`,
where they determine the frame or branch of a node.

Nodes are selected before import, since an imported data source would be run even if nothing used it; and copied, since
a gradient's `while` loop cannot be built again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import tensorflow as tf

from workloads.lifted.graph import (
    CONTROL_FLOW,
    ENTERS,
    EXITS,
    SWITCHES,
    TWO_WAY_SWITCHES,
    Graph,
    TensorId,
    forget_placement,
    input_text,
)
from workloads.lifted.graph import parse_tensor_name as parse
from workloads.lifted.graph.old_ops import replace_old_ops
from workloads.lifted.graph.sums import add_in_order
from workloads.lifted.pieces.noise import add_iteration_key, fix_seed, retype, use_twin
from workloads.lifted.pieces.piece import Fetch, Piece, PieceBuilder, VariableVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workloads.lifted.plan import Condition, LoopCounter, ReadVersion, TensorType

v1 = tf.compat.v1

_REFERENCE = {"RefEnter": "Enter", "RefExit": "Exit", "RefSwitch": "Switch", "RefIdentity": "Identity"}
_UPDATES = ("Assign", "Scatter", "Apply", "SparseApply", "ResourceScatter", "ResourceApply", "ResourceSparseApply")
_PASSES = (*ENTERS, *TWO_WAY_SWITCHES, *EXITS)


class Cutter:
    """Cuts pieces out of one graph.

    Args:
      graph: index of the graph.
      aliases: {tensor: variable} of tensors that are a variable or its handle.
      variables: {variable: its type}.
      signature: function from a tensor's name to its type.
      random: {random node: "keyed", "seeded" or "drawn"}.
      loops: {random node: its loop} of those that draw anew in each iteration of a `while` loop.
    """

    def __init__(
        self,
        graph: Graph,
        aliases: Mapping[str, str],
        variables: Mapping[str, TensorType],
        signature: Callable[[str], TensorType],
        random: Mapping[str, str],
        loops: Mapping[str, LoopCounter] | None = None,
    ) -> None:
        self._graph = graph
        self._aliases = {parse(tensor): variable for tensor, variable in aliases.items()}
        self._variables = variables
        self._signature = signature
        self._random = random
        self._loops = loops or {}
        self._sums_in_order = False
        self._conditional = graph.frames() | graph.branches()
        self._in_control = self._conditional | set(graph.of_types(*CONTROL_FLOW))
        self._in_control -= graph.outermost_joins()

    def with_signature(self, signature: Callable[[str], TensorType]) -> Cutter:
        """Returns a cutter of the same graph with another source of tensors' types."""
        other = Cutter.__new__(Cutter)
        other.__dict__.update(self.__dict__, _signature=signature)
        return other

    def with_sums_in_order(self) -> Cutter:
        """Returns a cutter of the same graph whose pieces add up in the order of the inputs; see `add_in_order`."""
        other = Cutter.__new__(Cutter)
        other.__dict__.update(self.__dict__, _sums_in_order=True)
        return other

    def piece(
        self,
        fetches: Sequence[str | Fetch],
        cuts: Iterable[str | TensorId] = (),
        versions: Iterable[ReadVersion] = (),
        taken: Iterable[Condition] = (),
    ) -> Piece:
        """Returns the piece that computes some tensors.

        Args:
          fetches: names of tensors, or `Fetch`es.
          cuts: tensors that are given, or their names; a frozenset, which many pieces may share, of tensors alone.
          versions: the reads that see a variable after the step has changed it.
          taken: branches of `cond`s that are computed as if they were taken.

        Returns:
          The `Piece`; its fetches are in the order of `fetches`.
        """
        builder = PieceBuilder(
            self._graph.graph_def.versions,
            cuts if isinstance(cuts, frozenset) else {parse(cut) if isinstance(cut, str) else cut for cut in cuts},
            {(read.node, read.variable): read.version for read in versions},
            {(self._graph.before_branches(parse(predicate)), int(branch)) for predicate, branch in taken},
        )
        ends = [(fetch, None) if isinstance(fetch, str) else (fetch.tensor, fetch.user) for fetch in fetches]
        names = [parse(self._reach(builder, user, parse(tensor))).name for tensor, user in ends]
        while builder.todo:
            self._add(builder, builder.todo.pop())
        replace_old_ops(builder.result)
        if self._sums_in_order:
            add_in_order(builder.result)
        library = self._graph.graph_def.library
        functions = {function.signature.name for function in library.function}
        if any(node.op in functions or _has_function(node) for node in builder.result.node):
            builder.result.library.CopyFrom(library)
        return Piece(builder.result, list(builder.feeds.values()), names)

    def _reach(self, builder: PieceBuilder, user: Optional[str], tensor: TensorId) -> str:
        """Returns the text by which `user` gets a tensor: a feed's placeholder, or the node, which is then added."""
        name, output = tensor
        node = self._graph.nodes[name]
        if tensor in builder.cuts:
            return self._feed_tensor(builder, "cut", tensor)
        passes = node.op in _PASSES and (node.op not in SWITCHES or output not in {b for _, b in builder.taken})
        if tensor in self._aliases and not passes:
            variable = self._aliases[tensor]
            version = VariableVersion(variable, builder.versions.get((user, variable), 0))
            fed = builder.feed("read", version, *self._variables[variable])
            return self._in_branch_of(builder, tensor, fed) if self._is_update(name) else fed
        if node.op in SWITCHES and (self._graph.before_branches(self._graph.inputs(name)[1]), output) in builder.taken:
            return self._reach(builder, name, self._graph.inputs(name)[0])
        if self._random.get(name) == "drawn":
            return self._feed_tensor(builder, "drawn", tensor)
        if name not in builder.seen:
            builder.seen.add(name)
            builder.todo.append(name)
        return input_text(tensor)

    def _in_branch_of(self, builder: PieceBuilder, update: TensorId, fed: str) -> str:
        """Returns a fed value that is dead where an update is, in a branch: a `Merge` takes what is not dead."""
        before = self._graph.inputs(update.node)[0]
        while self._graph.type(before.node) in _REFERENCE and self._graph.type(before.node) not in SWITCHES:
            before = self._graph.inputs(before.node)[0]
        if self._graph.type(before.node) not in SWITCHES:
            return fed
        predicate = self._graph.inputs(before.node)[1]
        if (self._graph.before_branches(predicate), before.output) in builder.taken:
            return fed
        name = f"{fed}/of/{update.node}"
        if name not in builder.seen:
            builder.seen.add(name)
            switch = v1.NodeDef(name=name, op="Switch", input=[fed, self._reach(builder, name, predicate)])
            dtype = self._variables[self._aliases[update]][0]
            switch.attr["T"].type = tf.as_dtype(dtype).as_datatype_enum
            builder.result.node.add().CopyFrom(switch)
        return f"{name}:{before.output}" if before.output else name

    def _feed_tensor(self, builder: PieceBuilder, kind: str, tensor: TensorId) -> str:
        return builder.feed(kind, tensor.name, *self._signature(tensor.name))

    def _add(self, builder: PieceBuilder, name: str) -> None:
        """Adds a copy of a node to the piece; adds what it needs to the nodes that are still to be added."""
        node = v1.NodeDef()
        node.CopyFrom(self._graph.nodes[name])
        forget_placement(node)
        inputs = self._graph.inputs(name)
        node.input[:] = [self._reach(builder, name, tensor) for tensor in inputs]
        if inputs and inputs[0] in self._aliases:
            variable = self._aliases[inputs[0]]
            self._use_value(builder, node, tf.as_dtype(self._variables[variable][0]).as_datatype_enum)
        if name in self._random:
            self._derandomize(builder, node)
        node.input.extend(dict.fromkeys("^" + control for control in self._kept_controls(builder, name)))
        builder.result.node.add().CopyFrom(node)

    def _kept_controls(self, builder: PieceBuilder, name: str) -> Iterator[str]:
        """Yields the nodes of the piece that a node waits for.

        A node without data inputs, such as a constant, is in a loop or branch by its control edges alone. Where one
        comes from what the piece leaves out (an update, an assertion), it comes from what that is in the loop by.
        """
        is_held = any(tensor.node in self._conditional for tensor in self._graph.inputs(name))
        todo, seen = [control for control in self._graph.controls(name) if control in self._in_control], {name}
        while todo:
            control = todo.pop(0)
            if control in seen:
                continue
            seen.add(control)
            tensor = TensorId(control, 0)
            is_fed = tensor in builder.cuts or tensor in self._aliases or self._random.get(control) == "drawn"
            if self._keeps(control) and not is_fed and not self._is_update(control):
                yield self._reach(builder, name, tensor)
            elif not is_held and control in self._conditional:
                todo += [before.node for before in self._graph.inputs(control)] + self._graph.controls(control)

    def _keeps(self, control: str) -> bool:
        """Returns whether an edge from a node determines a frame or branch, or orders a loop's own stacks."""
        inside = control in self._conditional or self._graph.type(control) in CONTROL_FLOW
        return inside and self._graph.type(control) not in ("Assert", "Print", "PrintV2")

    def _is_update(self, name: str) -> bool:
        """Returns whether a node changes a variable."""
        inputs = self._graph.inputs(name)
        return bool(inputs) and inputs[0] in self._aliases and self._graph.type(name).startswith(_UPDATES)

    def _use_value(self, builder: PieceBuilder, node: Any, dtype: int) -> None:
        """Turns a NodeDef of an op on a variable's handle or reference into one on the variable's value."""
        if node.op == "ReadVariableOp":
            retype(node, "Identity", {"T": dtype})
        elif node.op == "ResourceGather":
            axis = builder.constant(node.name + "/axis", 0)
            indices = node.attr["Tindices"].type
            retype(node, "GatherV2", {"Tparams": dtype, "Tindices": indices, "Taxis": tf.int32.as_datatype_enum})
            node.input.append(axis)
        elif node.op == "ResourceGatherNd":
            retype(node, "GatherNd", {"Tparams": dtype, "Tindices": node.attr["Tindices"].type})
        elif node.op == "VariableShape":
            retype(node, "Shape", {"T": dtype, "out_type": node.attr["out_type"].type or 3})
        elif node.op in _PASSES + ("RefIdentity",):
            node.op = _REFERENCE.get(node.op, node.op)
            node.attr["T"].type = dtype

    def _derandomize(self, builder: PieceBuilder, node: Any) -> None:
        """Makes what a random NodeDef draws the same on both sides."""
        how = self._random[node.name]
        if how == "seeded":
            fix_seed(node)
        elif how == "keyed":
            key = builder.feed("noise", node.name, "int32", (2,))
            if node.name in self._loops:
                frame, counter = self._loops[node.name]
                inside = self._reach(builder, node.name, parse(counter))
                key = add_iteration_key(builder.result, node.name, key, frame, inside)
            use_twin(node, key)


def _has_function(node: Any) -> bool:
    return any(value.WhichOneof("value") == "func" for value in node.attr.values())
