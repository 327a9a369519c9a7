"""`GivenInputs`: a change of the port by which each stage of a step reads the user's recorded inputs to that stage.

The step still shows what it computed itself: gradients from the state, combined gradients from the *user's* gradients,
weights and slots from the *user's* combined gradients. So a difference in one stage does not reach the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState, Variables
    from modern.mirrored.step.step_tensors import Tensors
    from modern.options import ModernOptions
    from workloads.job import Job
    from workloads.program import StepRecord


class _Given:
    """Recorded tensors of one stage on one replica, and whether the step reads them in place of its own.

    Args:
      weights: {name: variable}, whose shapes and dtypes the tensors have.
    """

    def __init__(self, weights: Variables) -> None:
        self._values = {name: tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False) for name, v in weights.items()}
        self._in_use = tf.Variable(False)

    def set(self, values: Mapping[str, np.ndarray] | None) -> None:
        """Gives the step these tensors to read; none if `values` lacks a weight."""
        known = values is not None and all(
            name in values and np.shape(values[name]) == tuple(variable.shape)
            for name, variable in self._values.items()
        )
        self._in_use.assign(known)
        for name, variable in self._values.items():
            if known and values is not None:
                variable.assign(np.asarray(values[name], variable.dtype.as_numpy_dtype))

    def choose(self, computed: Tensors) -> Tensors:
        """Returns the given tensors if they are in use, else `computed`."""
        in_use = _read(self._in_use)
        return {
            name: tf.where(in_use, _read(self._values[name]), tf.convert_to_tensor(value))
            if name in self._values
            else value
            for name, value in computed.items()
        }


def _read(variable: tf.Variable) -> tf.Tensor:
    with tf.device(variable.device):
        return variable.read_value()


class GivenInputs:
    """The recorded inputs of one step at a time, for one program that is built with `change`."""

    def __init__(self) -> None:
        self._gradients: list[_Given] = []
        self._combined: list[_Given] = []

    def set(self, record: StepRecord | None) -> None:
        """Gives the next step a record's gradients and combined gradients; None: the step reads its own."""
        for replica, given in enumerate(self._gradients):
            shown = record is not None and replica < len(record.gradients)
            given.set(record.gradients[replica] if record is not None and shown else None)
        for given in self._combined:
            given.set(record.combined if record is not None and record.combined else None)

    def change(self) -> injection.Change:
        """Returns the change; it comes before all other changes of replica steps and replaces their results."""
        inputs = self

        class StepOfGivenInputs(ReplicaStep):
            """Reads each stage's inputs where they are given."""

            def __init__(
                self, job: Job, options: ModernOptions, variables: MirroredState, rules: UpdateRules, first: int = 0
            ) -> None:
                super().__init__(job, options, variables, rules, first)
                weights = variables.local(0).weights
                inputs._prepare([weights for _ in range(job.replicas)])

            def _update(
                self,
                context: tf.distribute.ReplicaContext,
                local: LocalState,
                step: tf.Tensor,
                gradients: Tensors,
                rate: tf.Tensor,
            ) -> Tensors:
                combined = self._combine(context, inputs._gradients[local.replica].choose(gradients))
                self._rules.apply(local, inputs._combined[local.replica].choose(combined), rate)
                return combined

        return injection.in_replica_step(StepOfGivenInputs)

    def _prepare(self, weights: Sequence[Variables]) -> None:
        self._gradients = [_Given(of_replica) for of_replica in weights]
        self._combined = [_Given(of_replica) for of_replica in weights]
