"""Forward passes in numbers: every tensor of a workload's loss, and of the same tower of an old graph."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.rerun.program import OldGraphProgram
from legacy.towers.program import session_config
from workloads.frame import Frame
from workloads.initializers import Initializer
from workloads.job import Job
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.program import Arrays, State
from workloads.support.user import user_frames
from workloads.tower_loss import tower_loss

v1 = tf.compat.v1

#: Op types whose outputs are given to a forward pass.
_GIVEN = ("Const", "Placeholder")


class ForwardOp(NamedTuple):
    """One op of a workload's forward pass.

    Attributes:
      name: of the op.
      kind: op type.
      place: the line of the user's code that made it, "port.py:57, in layer"; "" if it is not known.
      inputs: names of its inputs.
      outputs: names of its outputs.
      attributes: {name: text} of its attributes, those that only say types left out.
    """

    name: str
    kind: str
    place: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, str] = types.MappingProxyType({})


class ForwardPass(NamedTuple):
    """A workload's forward pass.

    Attributes:
      ops: in the order in which they are run; those that are given are left out.
      values: {tensor: value}.
      loss: name of the loss.
      given: tensors of weights and of the batch.
    """

    ops: list[ForwardOp]
    values: Arrays
    loss: str
    given: frozenset[str] = frozenset()


class _GivenFrame(Frame):
    """Answers a model with the values of a state.

    Args:
      job: of the model.
      state: holds weights and statistics; its step counts the noise.
      replica: number of the replica.
    """

    def __init__(self, job: Job, state: State, replica: int) -> None:
        super().__init__(job.dtype, job.seed, tf.constant(state.step, tf.int64), replica, replicas=job.replicas)
        self._values = {**state.weights, **state.statistics}
        self._made: dict[str, tf.Tensor] = {}
        self.fed: dict[tf.Tensor, np.ndarray] = {}

    def variable(self, name: str, shape: tuple[int, ...], initializer: Initializer, trainable: bool) -> tf.Tensor:
        if name not in self._made:
            self._made[name] = v1.placeholder(self.dtype, shape)
            self.fed[self._made[name]] = self._values[name]
        return self._made[name]


def port_forward(job: Job, state: State, batch: Arrays, replica: int) -> ForwardPass:
    """Computes every tensor of a workload's loss.

    Args:
      job: of the workload.
      state: the state to start from.
      batch: {input: array} of the replica.
      replica: number of the replica.

    Returns:
      the ops and values.
    """
    with tf.Graph().as_default() as graph:
        frame = _GivenFrame(job, state, replica)
        placeholders = {name: v1.placeholder(value.dtype, value.shape) for name, value in batch.items()}
        loss = tower_loss(job.workload, frame, placeholders)
        frame.fed.update((placeholders[name], value) for name, value in batch.items())
        needed = Graph(graph.as_graph_def()).ancestors([loss.op.name], controls=False)
        made = [op for op in graph.get_operations() if op.name in needed]
        fetched = [tensor for op in made for tensor in op.outputs if _is_fetched(tensor)]
        with v1.Session(graph=graph, config=session_config(["CPU:0"], exact=True)) as session:
            values = session.run({tensor.name: tensor for tensor in fetched}, frame.fed)
    given = frozenset(tensor.name for tensor in frame.fed)
    return ForwardPass([_described(op) for op in made if op.type not in _GIVEN], values, loss.name, given)


def old_forward(
    program: OldGraphProgram, graph: Graph, loss: str, given: Iterable[str], shards: list[Arrays]
) -> Arrays:
    """Computes the tensors of a tower's loss in an old graph, those inside of loops and branches left out.

    Args:
      program: the old graph.
      graph: index of the lift's graph.
      loss: name of the tower's loss.
      given: the tensors that are the tower's inputs.
      shards: each replica's batch.

    Returns:
      {tensor: value}.
    """
    inside = graph.frames() | graph.branches()
    stop = {parse_tensor_name(name).node for name in given}
    needed = graph.ancestors([parse_tensor_name(loss).node], stop, controls=False) - inside
    present = program.graph
    names = [
        tensor.name
        for name in sorted(needed)
        if _has(present, name)
        for tensor in present.get_operation_by_name(name).outputs
        if _is_fetched(tensor) and tensor.op.type not in _GIVEN
    ]
    return program.evaluate(names, shards)


def _has(graph: tf.Graph, name: str) -> bool:
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def _is_fetched(tensor: tf.Tensor) -> bool:
    """Returns whether a tensor holds numbers that can be looked at."""
    dtype = tensor.dtype
    return (dtype.is_floating or dtype.is_integer or dtype.is_bool) and not dtype._is_ref_dtype  # noqa: SLF001


def _described(op: tf.Operation) -> ForwardOp:
    inputs, outputs = (tuple(tensor.name for tensor in tensors) for tensors in (op.inputs, op.outputs))
    return ForwardOp(op.name, op.type, _place(op), inputs, outputs, attributes_of(op.node_def))


def attributes_of(node: tf.compat.v1.NodeDef) -> dict[str, str]:
    """Returns {name: text} of a node's attributes, without types and attributes that only the runtime reads."""
    found = {}
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if kind in ("f", "i", "b"):
            found[name] = f"{getattr(value, kind):g}" if kind == "f" else str(getattr(value, kind))
        elif kind == "s" and name in ("padding", "data_format"):
            found[name] = value.s.decode()
        elif kind == "list" and value.list.i:
            found[name] = str(list(value.list.i))
    return {name: text for name, text in found.items() if not name.startswith("_")}


def _place(op: Any) -> str:
    """Returns the innermost line of the user's code that made an op, with its function."""
    frames = [frame for frame in op.traceback or [] if user_frames.is_user(frame.filename)]
    if not frames:
        return ""
    return f"{user_frames.Place(frames[-1].filename, frames[-1].lineno)}, in {frames[-1].name}"
