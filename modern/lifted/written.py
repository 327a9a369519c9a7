"""A tower whose loss is a function in a source; see `workloads.lifted.workload.lift_with_losses`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from modern.lifted.autodiff import as_old_tensors
from modern.lifted.function import StepValues, Tensors
from workloads.frame import COMMON, Frame
from workloads.lifted.pieces.noise import noise_input
from workloads.lifted.pieces.piece import VariableVersion
from workloads.lifted.plan import Phase
from workloads.model_checks import check_loss
from workloads.numerics import gradient_sums
from workloads.scope import Scope
from workloads.support.errors import require
from workloads.support.user import user_code


class WrittenFrame(Frame):
    """Answers a written loss with a replica's variables, and with the random numbers of the lift's streams.

    Args:
      values: of the replica's step.
      dtype: name of the run's float dtype.
      drawn: whether the batch brings the random numbers.
    """

    def __init__(self, values: StepValues, dtype: str, drawn: bool) -> None:
        replicas = int(tf.distribute.get_strategy().num_replicas_in_sync)
        super().__init__(dtype, 0, values.step, values.replica, replicas=replicas)
        self._values, self._drawn = values, drawn

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        require(name in self._values.variables, "scope.get", name, "must be a variable of the lift")
        return self._values.read(VariableVersion(name, 0))

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: tf.Tensor | None = None
    ) -> tf.Tensor:
        if self._drawn and turn is None:
            return self._values.batch[noise_input(name, 0)]
        return super().noise(name, shape, kind, turn)

    def categorical(self, name: str, logits: tf.Tensor, samples: int, turn: tf.Tensor | None = None) -> tf.Tensor:
        if self._drawn and turn is None:
            return tf.cast(self._values.batch[noise_input(name, 0)], tf.int64)
        return super().categorical(name, logits, samples, turn)

    def noise_seed(self, name: str) -> tf.Tensor:
        return self._values.key(name, self.replica == COMMON)


class WrittenTower:
    """Computes a tower's loss, its raw gradients and the next values of its state by a written function.

    Args:
      phase: the phase.
      loss: the function, of a scope and a batch.
      dtype: name of the run's float dtype.
      drawn: whether the batch brings the random numbers.
    """

    def __init__(self, phase: Phase, loss: Callable[[Scope, Tensors], tf.Tensor], dtype: str, drawn: bool) -> None:
        self._phase, self._loss, self._dtype, self._drawn = phase, loss, dtype, drawn
        reason = "each tower's gradients depend on all towers' results" if phase.returns else ""
        reason = reason if phase.losses else "the graph does not tell what is minimized"
        require(not reason, "lift_with_losses: losses", phase.train_op, reason)

    def __call__(self, tower: int, values: StepValues) -> Tensors:
        """Returns {tensor of the old graph: value}."""
        frame, what = WrittenFrame(values, self._dtype, self._drawn), f"loss of {self._phase.train_op}"
        with user_code.calling(what, self._loss, "a scalar from scope.get's variables and the batch"):
            result = self._loss(Scope(frame), {name: self._as_run(value) for name, value in values.batch.items()})
        check_loss(what, result, frame.dtype, of_examples=True)
        given, raw = frame.values_given, raw_gradients(self._phase, tower)
        weights = [weight for weight in raw if weight in given]
        found = {self._phase.losses[tower]: result}
        asked = [given[weight] for weight in weights]
        with gradient_sums.added_in_order():  # as the old graph's sums, where bits are compared
            gradients = tf.compat.v1.gradients(result, asked)
        for weight, gradient in zip(weights, gradients):
            found.update(as_old_tensors(self._phase, raw, weight, gradient, given[weight]))
        for effect in self._phase.effects:
            if effect.writes[0] in frame.updates:
                found[effect.values[0]] = frame.updates[effect.writes[0]]
        return found

    def _as_run(self, value: tf.Tensor) -> tf.Tensor:
        """Returns an input in the run's float dtype: a lift in float64 has the inputs of the one in float32."""
        return tf.cast(value, self._dtype) if value.dtype.is_floating else value


def raw_gradients(phase: Phase, tower: int) -> Mapping[str, str]:
    """Returns {weight: tensor} of a tower's gradients as differentiation gives them."""
    return phase.raw[tower] if all(phase.raw) else phase.gradients[tower]
