"""The parts that every training step is made of: learning rate, forward and backward pass, moving average."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from modern.mirrored.state.moving_average import update_moving_averages
from modern.mirrored.step.differentiation import gradients_by_graph, gradients_by_tape
from modern.mirrored.step.step_tensors import Tensors
from modern.options import ModernOptions
from workloads import schedules
from workloads.frame import COMMON, Frame
from workloads.job import Job
from workloads.numerics.statistics import TOWERS_IN_TURN, Proposals
from workloads.support.errors import InputError, require
from workloads.tower_loss import tower_loss
from workloads.tracing import trace_noise

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState


class PassResult(NamedTuple):
    """The result of one replica's forward and backward pass.

    Attributes:
      loss: scalar, penalties included.
      gradients: {weight: gradient}, before any clipping.
      updates: {statistic: the value that the replica proposes}.
      masks: {dropout: boolean tensor, true where kept}.
    """

    loss: tf.Tensor
    gradients: Tensors
    updates: Tensors
    masks: Tensors


class ReplicaFrame(Frame):
    """Answers a model with the values of one replica's variables, each read once a step.

    Args:
      job: the `Job`.
      step: int64 scalar tensor, the number of the step.
      replica: number of the replica.
      values: {variable name: tensor}.
      noises: {noise name: tensor} drawn already, or empty to draw them as the model asks for them.
      layer_devices: see `Frame.devices`.
    """

    def __init__(
        self,
        job: Job,
        step: tf.Tensor,
        replica: int,
        values: Tensors,
        noises: Tensors,
        layer_devices: Sequence[str] = (),
    ) -> None:
        super().__init__(job.dtype, job.seed, step, replica, layer_devices, job.replicas)
        self._values = values
        self._noises = noises

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        if name not in self._values:
            raise InputError(f"scope.get: {name!r} was not asked for in the model's first pass, must be in all")
        return self._values[name]

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: tf.Tensor | None = None
    ) -> tf.Tensor:
        return self._noises[name] if name in self._noises else super().noise(name, shape, kind, turn)


class TrainingStep:
    """Base of the training steps, which differ in how replicas' gradients meet and are applied.

    A subclass adds `__call__`, which Python runs only while the step is traced.

    Args:
      job: the `Job`.
      options: see `ModernOptions`.
      variables: the variables that the step changes.
      rules: updates weights and slots from combined gradients.

    Attributes:
      traces: how often a replica's step was traced.
      eager: whether it last ran without a graph.
      layer_devices: devices that the model's layers are divided among, or none; see `Frame.devices`.
      taps: {replica, counted in this process: (taps, their gradients)} of the last pass; empty where taps are off.
    """

    layer_devices: tuple[str, ...] = ()

    def __init__(self, job: Job, options: ModernOptions, variables: MirroredState, rules: UpdateRules) -> None:
        self._job = job
        self._options = options
        self._variables = variables
        self._rules = rules
        self.traces = 0
        self.eager = False
        self.taps: dict[int, tuple[Tensors, Tensors]] = {}

    def _rate(self, step: tf.Tensor) -> tf.Tensor:
        """The learning rate at `step`, a float32 scalar."""
        return schedules.rate_tensor(self._job.workload.learning_rate, step, self._job.global_batch)

    def _count_step(self, local: LocalState) -> None:
        tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))

    def _update_averages(self, local: LocalState) -> None:
        """Updates the weights' moving averages, if the workload has any; call after the step was counted."""
        if self._job.workload.moving_average is not None:
            update_moving_averages(self._job.workload.moving_average, local)

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        """Runs the model on one replica's batch and differentiates its loss.

        Args:
          local: the replica's variables.
          step: int64 scalar tensor.
          replica: number of the replica.
          batch: {input name: tensor [per-replica batch, *shape]}.

        Returns:
          See `PassResult`.
        """
        weights = {name: self._read(variable) for name, variable in local.weights.items()}
        statistics = {name: self._read(variable) for name, variable in local.statistics.items()}

        def compute(
            batch: Tensors, weights: Tensors, statistics: Tensors, step: tf.Tensor, noises: Tensors
        ) -> PassResult:
            frame = ReplicaFrame(self._job, step, replica, {**weights, **statistics}, noises, self.layer_devices)
            frame.tap_patterns = self._options.taps
            differentiate = gradients_by_tape if self._options.autodiff == "tape" else gradients_by_graph
            loss, gradients = differentiate(
                lambda: tower_loss(self._job.workload, frame, batch),
                weights,
                self.layer_devices,
                frame,
                self._options.exact,
            )
            if self._options.taps:
                self.taps[local.replica] = (frame.taps, frame.tap_gradients)
            in_turn = self._job.workload.statistics == TOWERS_IN_TURN
            updates = Proposals(frame.updates, frame.changes) if in_turn else dict(frame.updates)
            return PassResult(loss, gradients, updates, dict(frame.masks))

        if not self._options.xla:
            return compute(batch, weights, statistics, step, {})
        allowed = self._job.workload.statistics != TOWERS_IN_TURN
        require(allowed, "--xla", True, f"not with statistics of {TOWERS_IN_TURN}, which replicas hand to each other")
        noises = self._draw_noise(step, replica)
        return tf.function(compute, jit_compile=True, autograph=False)(batch, weights, statistics, step, noises)

    def _draw_noise(self, step: tf.Tensor, replica: int) -> Tensors:
        """{noise name: tensor} of one pass, for XLA: inside its function it would draw by another algorithm."""
        specs = trace_noise(self._job.workload, self._job.per_replica_batch, self._job.dtype)
        unknown = [name for name, spec in specs.items() if spec.shape is None]
        require(not unknown, "--xla", True, f"not with noise whose shape the model computes: {', '.join(unknown)}")
        in_loops = [name for name, spec in specs.items() if spec.in_loop]
        require(not in_loops, "--xla", True, f"not with noise that a loop draws: {', '.join(in_loops)}")
        frame = ReplicaFrame(self._job, step, replica, {}, {})
        frames = {True: frame.of(COMMON), False: frame}
        return {n: frames[spec.is_common].noise(n, spec.shape or (), spec.kind) for n, spec in specs.items()}

    def _read(self, variable: tf.Variable) -> tf.Tensor:
        # `read_value` adds an identity, which belongs to the replica's device; where the layers are on several devices,
        # to the variable's: it would carry every weight to the current device and back. `tf.device(None)` is no
        # substitute for the current device: it forgets it, and the identity is then put on the first device.
        with tf.device(variable.device) if self.layer_devices else contextlib.nullcontext():
            return variable.read_value()
