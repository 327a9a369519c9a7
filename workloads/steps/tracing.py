"""Variables and noise of a workload with a step of its own, found by calling its losses once, on placeholders."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.frame import CATEGORICAL, COMMON, Frame, NoiseSpec, Tensors
from workloads.program import State
from workloads.steps.workload import StepScope
from workloads.support.user import user_code
from workloads.variable_spec import VariableSpec, initial_values

if TYPE_CHECKING:
    from workloads.initializers import Initializer
    from workloads.program import Arrays
    from workloads.steps.workload import StepWorkload


class TracedStep(NamedTuple):
    """The variables and random numbers that the losses of a step ask for.

    Attributes:
      specs: their variables, in the order of the first requests.
      noises: {name: random numbers that they draw}.
    """

    specs: tuple[VariableSpec, ...]
    noises: dict[str, NoiseSpec]


class _TracingFrame(Frame):
    """Answers losses with placeholders, and records each request but those for variables that are known."""

    def __init__(self, dtype: str, replica: int, replicas: int, known: dict[str, str], found: TracedStep) -> None:
        super().__init__(dtype, 0, tf.constant(0, tf.int64), replica, replicas=replicas)
        self._known = known
        self.specs = collections.OrderedDict((spec.name, spec) for spec in found.specs)
        self.noises = found.noises
        self._values: Tensors = {}

    def variable(self, name: str, shape: tuple[int, ...], initializer: Initializer, trainable: bool) -> tf.Tensor:
        if name not in self._values:
            dtype = self._known.get(name, self.dtype)
            self._values[name] = tf.compat.v1.placeholder(dtype, shape)
            if name not in self._known:
                self.specs.setdefault(name, VariableSpec(name, shape, dtype, trainable, initializer))
        return self._values[name]

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: tf.Tensor | None = None
    ) -> tf.Tensor:
        self.noises[name] = NoiseSpec.of(shape, kind, turn, self.replica)
        return super().noise(name, shape, kind, turn)

    def categorical(self, name: str, logits: tf.Tensor, samples: int, turn: tf.Tensor | None = None) -> tf.Tensor:
        self.noises[name] = NoiseSpec(None, CATEGORICAL, turn is not None, self.replica == COMMON)
        return super().categorical(name, logits, samples, turn)


def trace_step(workload: StepWorkload, per_replica_batch: int, replicas: int) -> TracedStep:
    """Finds the variables and the noise of a workload's losses without running them.

    Args:
      workload: the workload.
      per_replica_batch: examples of one replica.
      replicas: number of replicas, each of which may ask for states of its own.

    Returns:
      What they ask for.
    """
    known = {name: dtype.name for name, (_, _, dtype) in workload.other_variables().items()}
    found = TracedStep((), {})
    for loss in workload.losses():
        for replica in range(replicas):
            with tf.Graph().as_default():
                frame = _TracingFrame("float32", replica, replicas, known, found)
                batch = {
                    name: tf.compat.v1.placeholder(spec.dtype("float32"), (per_replica_batch,) + tuple(spec.shape))
                    for name, spec in workload.inputs().items()
                }
                what = f"{workload.name}.{loss.__name__}"
                with user_code.calling(what, loss, "a scalar from scope.get's variables and the batch"):
                    loss(StepScope(frame, {}), batch)
            found = TracedStep(tuple(frame.specs.values()), frame.noises)
    return found


def first_state(workload: StepWorkload, specs: tuple[VariableSpec, ...], seed: int) -> State:
    """Returns the state before the first step: of models, slots and the update's other variables.

    Args:
      workload: the workload.
      specs: of its losses.
      seed: of the job.

    Returns:
      The state; slots that start from their weights are averages.
    """
    values = initial_values(specs, seed)
    weights = {spec.name: np.asarray(values[spec.name], np.float32) for spec in specs if spec.trainable}
    others = {spec.name: np.asarray(values[spec.name], np.float32) for spec in specs if not spec.trainable}
    for name, (shape, start, dtype) in workload.other_variables().items():
        others[name] = np.full(shape, start, dtype.as_numpy_dtype)
    slots: Arrays = {}
    averages: Arrays = {}
    for names, starts in workload.slots():
        for name in names:
            weight = weights.get(name, others.get(name))
            assert weight is not None
            for slot, start in starts.items():
                made = averages if start is None else slots
                variable = slot.format(name) if "{}" in slot else f"{name}/{slot}"
                made[variable] = weight.copy() if start is None else np.full_like(weight, start)
    return State(0, weights, slots, others, averages)
