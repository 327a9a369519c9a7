"""The first op of a port's forward pass that the old graph does not have, found by values and not by names.

Both forward passes are computed from the same weights, batch and random numbers. A tensor of the port has a
counterpart if some tensor of the tower holds the same numbers. The programs diverge at the first op that leads to the
port's loss, has a counterpart for every input, and none for its result. It is reported with the line of the port's
source code that made it.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from parity.against.forward_values import ForwardOp, ForwardPass, attributes_of
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.program import Arrays
from workloads.support.wording import FEW

#: The kind of a difference where the port's loss is a tensor that the old graph computes its loss from.
ENDS = "loss"

#: Relative difference up to which two tensors hold the same numbers, where identical bits are not asked for.
CLOSE = 1e-5

#: Op types that return their input.
_PASSES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient")

#: Ops that read only the shape of their input.
_SHAPES = ("Shape", "ShapeN", "Size", "Rank")

#: The version at the end of an op's type; both eras have versions of their own.
_VERSION = re.compile(r"V\d+$")


class ForwardDifference(NamedTuple):
    """The first op of a port with a result that the old graph does not compute.

    Attributes:
      op: name of the op in the port.
      kind: its type; `ENDS` for a loss to which the old graph adds something.
      place: the line of the user's code that made it, and the function.
      inputs: tensors of the old graph that its inputs are.
      instead: ops of the old graph that take these in the forward pass.
      otherwise: numbers and attributes in which the op differs from one of its kind among those, in words.
    """

    op: str
    kind: str
    place: str
    inputs: tuple[str, ...]
    instead: tuple[str, ...]
    otherwise: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The op that differs and its place in the port; "" where it has no input that the old graph has."""
        return f"{self.kind} at {self.place or self.op}" if self.inputs and self.kind != ENDS else ""

    def sentence(self) -> str:
        """Returns the difference as a line of a report."""
        where = self.place or self.op
        instead = f"; the old graph goes on with {', '.join(self.instead)}" if self.instead else ""
        if self.kind == ENDS:
            return f"the port's loss, made at {where}, is {self.inputs[0]} of the old graph{instead}"
        known = f" from {', '.join(self.inputs)} of the old graph" if self.inputs else ""
        otherwise = f"; {', '.join(self.otherwise)}" if self.otherwise else ""
        return f"the forward passes diverge at {where}: {self.kind}{known}{instead}{otherwise}"

    def to_json(self) -> dict[str, Any]:
        """Returns the difference for `--json`."""
        return self._asdict()


def find_forward_difference(
    port: ForwardPass, old: Arrays, graph: Graph, close: float = 0.0, old_loss: str = ""
) -> ForwardDifference | None:
    """Finds the first op with inputs that the old graph computes, too, and a result that it does not.

    Args:
      port: the port's forward pass.
      old: {tensor of the old graph: value}.
      graph: index of the old graph.
      close: see `matching_tensors`.
      old_loss: the loss in the old graph; "" if a port's loss that occurs before it is of no interest.

    Returns:
      the difference; None if the old graph has the port's loss.
    """
    found = matching_tensors(port.values, old, close)
    made_by = {output: op for op in port.ops for output in op.outputs}
    members = {parse_tensor_name(name).node for name in old}
    unknown = _unknown_behind(port.loss, made_by, found)
    unknown = unknown & _computed_from(port, found) or unknown
    for op in port.ops:
        if op.name in unknown and not any(made_by[name].name in unknown for name in op.inputs if name in made_by):
            return _described(op, port, found, graph, members)
    counterpart = found.get(port.loss, "")
    if old_loss and counterpart and _is_another_number(counterpart, old_loss, old):
        instead, op = _named_users([counterpart], graph, members), made_by[port.loss]
        return ForwardDifference(op.name, ENDS, op.place, (counterpart,), tuple(instead))
    return None


def _computed_from(port: ForwardPass, known: Collection[str]) -> set[str]:
    """Ops with values, and not only shapes, that depend on weights, batch, or tensors that the old graph computes."""
    tensors, ops = {*port.given, *known}, set[str]()
    for op in port.ops:
        if op.kind not in _SHAPES and any(name in tensors for name in op.inputs):
            ops.add(op.name)
            tensors.update(op.outputs)
    return ops


def _is_another_number(tensor: str, loss: str, old: Arrays) -> bool:
    """Whether the old graph's loss is neither a tensor nor of its value, so that the graph computes on from there."""
    return tensor != loss and loss in old and not np.array_equal(np.ravel(old[tensor]), np.ravel(old[loss]))


def _unknown_behind(loss: str, made_by: Mapping[str, ForwardOp], found: Mapping[str, str]) -> set[str]:
    """Returns the ops between the loss and the tensors that the old graph has."""
    unknown: set[str] = set()
    todo = [loss]
    while todo:
        name = todo.pop()
        op = made_by.get(name)
        if op is not None and name not in found and op.name not in unknown:
            unknown.add(op.name)
            todo += op.inputs
    return unknown


def _described(
    op: ForwardOp, port: ForwardPass, found: Mapping[str, str], graph: Graph, members: Collection[str]
) -> ForwardDifference:
    inputs = [found[name] for name in op.inputs if name in found]
    users = list(dict.fromkeys(user for tensor in inputs for user in _users(tensor, graph, members)))
    same = [user for user in users if _VERSION.sub("", graph.type(user)) == _VERSION.sub("", op.kind)]
    otherwise = _differing_numbers(op, port, same[0], graph) if len(same) == 1 else []
    instead = _named_users(inputs, graph, members)[:FEW] if not otherwise else [f"{same[0]} ({graph.type(same[0])})"]
    return ForwardDifference(op.name, op.kind, op.place, tuple(inputs), tuple(instead), tuple(otherwise))


def _differing_numbers(op: ForwardOp, port: ForwardPass, other: str, graph: Graph) -> list[str]:
    """The attributes, and the constants among the inputs, in which an op differs from one of its kind, in words."""
    theirs = attributes_of(graph.nodes[other])
    found = [
        f"{name} is {text} in the port and {theirs[name]} in the old graph"
        for name, text in sorted(op.attributes.items())
        if name in theirs and theirs[name] != text
    ]
    made = {output for one in port.ops for output in one.outputs} | port.given
    own = [port.values[name] for name in op.inputs if name not in made and name in port.values]
    constants = [tensor.node for tensor in graph.inputs(other) if graph.type(tensor.node) == "Const"]
    values = [tf.make_ndarray(graph.nodes[node].attr["value"].tensor) for node in constants]
    if len(own) == len(values) == 1 and np.size(own[0]) == np.size(values[0]) == 1:
        mine, old = np.ravel(own[0])[0], np.ravel(values[0])[0]
        if mine != old:
            found.append(f"its constant is {mine:g} in the port and {old:g} in the old graph")
    return found


def _named_users(tensors: Sequence[str], graph: Graph, members: Collection[str]) -> list[str]:
    """The ops that take some tensors, each with its type; the first ones of each tensor before further ones."""
    rows = [_users(tensor, graph, members) for tensor in tensors]
    names = [user for turn in itertools.zip_longest(*rows) for user in turn if user is not None]
    return [f"{user} ({graph.type(user)})" for user in dict.fromkeys(names)]


def _users(tensor: str, graph: Graph, members: Collection[str]) -> list[str]:
    """Returns the ops of the forward pass that take a tensor's values, beyond those that pass it on.

    Args:
      tensor: of the old graph.
      graph: index of the old graph.
      members: nodes of the tower's forward pass.
    """
    node, output = parse_tensor_name(tensor)
    uses = [use.node for use in graph.users(node) if use.output == output] if node in graph.nodes else []
    forward = [use for use in uses if use in members and graph.type(use) not in _SHAPES]
    beyond = [user for use in forward if graph.type(use) in _PASSES for user in _users(f"{use}:0", graph, members)]
    return list(dict.fromkeys([use for use in forward if graph.type(use) not in _PASSES] + beyond))


def matching_tensors(port: Arrays, old: Arrays, close: float = 0.0) -> dict[str, str]:
    """Finds for each tensor of a port one of the old graph with the same numbers, in whatever shape.

    Args:
      port: {tensor: value}.
      old: {tensor: value}.
      close: relative difference up to which the nearest tensor is taken, where none has the same bits.

    Returns:
      {tensor of the port: tensor of the old graph}. Tensors that hold one number only, several times, or zero or one,
      say nothing and are left out.
    """
    by_size: collections.defaultdict[int, list[str]] = collections.defaultdict(list)
    for name, value in old.items():
        by_size[np.size(value)].append(name)
    found = {}
    for name, value in port.items():
        if _is_distinctive(value):
            match = _nearest(np.ravel(value), by_size[np.size(value)], old, close)
            if match:
                found[name] = match
    return found


def _is_distinctive(value: np.ndarray) -> bool:
    """Whether a tensor is recognised by its values: they differ, or the only one is neither zero nor one."""
    flat = np.ravel(value)
    return bool(flat.size) and (float(flat[0]) not in (0.0, 1.0) if flat.size == 1 else bool(np.any(flat != flat[0])))


def _nearest(value: np.ndarray, names: Sequence[str], old: Arrays, close: float) -> str:
    """Returns the tensor with a value's bits, or else the nearest within `close`; "" if there is none."""
    best, distance = "", close
    for name in names:
        other = np.ravel(old[name])
        if other.dtype.kind != value.dtype.kind:
            continue
        if np.array_equal(value, other):
            return name
        if value.dtype.kind == "f" and close:
            gap = np.abs(np.asarray(value, np.float64) - other).max() / max(float(np.abs(other).max()), 1e-30)
            if gap < distance:
                best, distance = name, float(gap)
    return best
