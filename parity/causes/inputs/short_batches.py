"""Workload with short batches, and the changes of it and of its means that inject causes of example counts."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.causes.basics import injection
from workloads.scope import Scope
from workloads.workload import Workload

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from workloads.workload import InputSpec


@dataclasses.dataclass(frozen=True)
class Short(Workload):
    """`inner` with a short batch in every fourth step, of which the first replica gets the fewest.

    Attributes:
      kind: the first replica's examples in a short batch: "even", "uneven" (fewer than the others') or "empty" (none).
      divide: the divisor of the sum over a short batch: "true" (the number of its examples on all replicas), "fixed"
        (the full batch), "means" (each replica divides by its own examples, and every replica's mean counts alike).
    """

    inner: Any = None
    kind: str = "even"
    divide: str = "true"
    replicas: int = 0

    def for_replicas(self, replicas: int) -> Short:
        return dataclasses.replace(self, replicas=replicas)

    def inputs(self) -> dict[str, InputSpec]:
        return self.inner.inputs()

    def examples(self, rng: np.random.RandomState, count: int) -> dict[str, np.ndarray]:
        return self.inner.examples(rng, count)

    def loss(self, scope: Scope, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        import tensorflow as tf

        whole = self.inner.loss(scope, batch)
        frame = copy.copy(scope._frame)
        frame.updates, frame.penalties, frame.masks = {}, [], {}
        size = int(next(iter(batch.values())).shape[0])
        counts = self._counts(size)
        mine = counts[frame.replica]
        if mine:
            short = self.inner.loss(Scope(frame), {name: value[:mine] for name, value in batch.items()})
        else:  # a mean over nothing is not a number, and has no gradient
            short = tf.zeros_like(whole) if self.divide == "true" else tf.constant(np.nan, whole.dtype)
        factor = {"true": mine * self.replicas / sum(counts), "fixed": mine / size, "means": 1.0}[self.divide]
        factor = factor if mine else 1.0
        last = tf.equal(tf.math.floormod(frame.step, tf.cast(4, frame.step.dtype)), 3)
        return tf.where(last, short * tf.cast(factor, whole.dtype), whole)

    def _counts(self, size: int) -> list[int]:
        """Returns the number of examples of each replica in a short batch."""
        if self.kind == "even":
            return [size // 2] * self.replicas
        return [0 if self.kind == "empty" else max(1, size // 4)] + [size] * (self.replicas - 1)


def with_short_batches(kind: str) -> Callable[[Workload], Workload]:
    """Returns an `adapt` that gives the workload short batches of this kind."""

    def adapt(workload: Workload) -> Workload:
        fields = {f.name: getattr(workload, f.name) for f in dataclasses.fields(Workload)}
        return Short(**{**fields, "clip": None}, inner=workload, kind=kind)

    return adapt


def divide_by(how: str) -> injection.Change:
    """Changes the divisor of short batches; see `Short.divide`."""
    return injection.in_workload(lambda job: {"divide": how})


class MeanOverAll(injection.ScaledStep):
    """Takes the mean over all examples where legacy's is over n that count (here those above one half): n / b of it."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        found = super()._forward_backward(local, step, replica, batch)
        loss = found.loss
        values = next(value for value in batch.values() if value.dtype.is_floating)
        first = tf.reshape(values, [int(values.shape[0]), -1])[:, 0]
        count = tf.maximum(tf.reduce_sum(tf.cast(first > 0.5, loss.dtype)), 1)
        share = count / tf.cast(int(values.shape[0]), loss.dtype)
        return found._replace(
            loss=loss * share, gradients={name: value * share for name, value in found.gradients.items()}
        )
