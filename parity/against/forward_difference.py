"""The first op of a port's forward pass that the old graph does not have, found by values and not by names.

Both forward passes are computed from the same weights, batch and random numbers. A tensor of the port has a
counterpart if some tensor of the tower holds the same numbers. Of the ops that lead to the port's loss and whose result
has no counterpart, the first whose inputs all have one is where the programs diverge. The line of source code that made
it names the function.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parity.against.forward_values import ForwardOp, ForwardPass
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.program import Arrays
from workloads.support.wording import FEW

#: Relative difference up to which two tensors hold the same numbers, where identical bits are not asked for.
CLOSE = 1e-5


#: Op types that pass on what they get.
_PASSES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient")


class ForwardDifference(NamedTuple):
    """The first op of a port that computes what the old graph does not.

    Attributes:
      op: name of the op in the port.
      kind: its type.
      place: the line of the user's code that made it, and the function.
      inputs: tensors of the old graph that its inputs are.
      instead: ops of the old graph that take the first of these.
    """

    op: str
    kind: str
    place: str
    inputs: tuple[str, ...]
    instead: tuple[str, ...]

    def sentence(self) -> str:
        """Returns the difference as a line of a report."""
        where = self.place or self.op
        known = f" from {', '.join(self.inputs)} of the old graph" if self.inputs else ""
        instead = f"; the old graph goes on with {', '.join(self.instead)}" if self.instead else ""
        return f"the forward passes diverge at {where}: {self.kind}{known}{instead}"

    def to_json(self) -> dict[str, Any]:
        """Returns the difference for `--json`."""
        return self._asdict()


def find_forward_difference(
    port: ForwardPass, old: Arrays, graph: Graph, close: float = 0.0
) -> ForwardDifference | None:
    """Finds the first op whose inputs the old graph has and whose result it does not.

    Args:
      port: the port's forward pass.
      old: {tensor of the old graph: value}.
      graph: index of the old graph.
      close: see `matching_tensors`.

    Returns:
      the difference; None if the old graph has the port's loss.
    """
    found = matching_tensors(port.values, old, close)
    made_by = {output: op for op in port.ops for output in op.outputs}
    unknown = _unknown_behind(port.loss, made_by, found)
    for op in port.ops:
        if op.name in unknown and not any(made_by[name].name in unknown for name in op.inputs if name in made_by):
            return _described(op, found, graph)
    return None


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


def _described(op: ForwardOp, found: Mapping[str, str], graph: Graph) -> ForwardDifference:
    inputs = [found[name] for name in op.inputs if name in found]
    instead = [f"{use} ({graph.type(use)})" for use in _users(inputs[0], graph)] if inputs else []
    return ForwardDifference(op.name, op.kind, op.place, tuple(inputs), tuple(instead[:FEW]))


def _users(tensor: str, graph: Graph) -> list[str]:
    """Returns the ops that take a tensor in the forward pass, beyond those that pass it on."""
    node, output = parse_tensor_name(tensor)
    uses = [use.node for use in graph.users(node) if use.output == output] if node in graph.nodes else []
    forward = [use for use in uses if "gradients" not in use]
    beyond = [user for use in forward if graph.type(use) in _PASSES for user in _users(f"{use}:0", graph)]
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
        if _tells(value):
            match = _nearest(np.ravel(value), by_size[np.size(value)], old, close)
            if match:
                found[name] = match
    return found


def _tells(value: np.ndarray) -> bool:
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
