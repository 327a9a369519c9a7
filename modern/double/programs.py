"""Programs that run a written port's float32 step in float64; see `step_function`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.double.step_function import Step, step_in_float64
from modern.lifted.program import LiftedProgram
from modern.mirrored.program import ModernProgram
from modern.mirrored.step.step_tensors import Tensors
from modern.mirrored.traced_program import TracedProgram
from modern.options import ModernOptions
from workloads.job import Job
from workloads.program import State, StepRecord
from workloads.sources import Source

#: Function of an open input that takes its next batch: the step's values, and the batch.
ObservedStep = Callable[[Any], tuple[Any, Tensors]]


class Rewritten(TracedProgram):
    """A program whose steps are rewritten after they were traced."""

    def _rewritten_by(self, rewrite: Callable[[Tensors], Step]) -> ObservedStep:
        """Returns the function of one observed step that `rewrite` makes of the first batch."""
        take = tf.function(self._input.take, autograph=False)
        made: list[Step] = []

        def observed(batches: Any) -> tuple[Any, Tensors]:
            batch = take(batches)
            if not made:
                made.append(rewrite(batch))
            return made[0](batch), batch

        return observed


class _InDouble(Rewritten):
    """Gives a program of a float32 job variables in float64, and steps that were rewritten for them.

    Args:
      job: of the port, in float32.
      source: of its batches.
      options: see `ModernOptions`.
      devices: device of each replica.
    """

    strategy: tf.distribute.Strategy

    def __init__(self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str]) -> None:
        super().__init__(job, source, options, devices)  # type: ignore[call-arg]  # of the program that follows
        self._traced_variables = self._variables
        self._variables = self._variables.in_float64()

    def _rewritten(self, step: Step) -> ObservedStep:
        """Returns a replica's step as the function of one observed step in float64."""
        old, new = self._traced_variables.handles(), self._variables.handles()
        handles = {id(handle): other for handle, other in zip(old, new)}
        return self._rewritten_by(
            lambda batch: step_in_float64(lambda batch: self.strategy.run(step, (batch,)), batch, handles)
        )


class DoubleProgram(_InDouble, ModernProgram):
    """The port of a float32 job in float64; in its records learning rate and accumulators are float32."""

    def _observed_step(self) -> ObservedStep:
        return self._rewritten(self._replica_step)

    def _read(self) -> tuple[State, list[str]]:
        state, drift = super()._read()
        return dataclasses.replace(state, slots={name: _as_recorded(name, v) for name, v in state.slots.items()}), drift

    def step(self) -> StepRecord:
        record = super().step()
        return dataclasses.replace(record, learning_rate=np.asarray(record.learning_rate, np.float32))


def _as_recorded(name: str, slot: np.ndarray) -> np.ndarray:
    """Returns a slot; an accumulator, which is of no weight, as the float32 number that records hold of it."""
    return slot if "/" in name else np.asarray(slot, np.float32)


class DoubleLiftedProgram(_InDouble, LiftedProgram):
    """The port of a lift's float32 job in float64, where its losses or its whole step are written."""

    def _observed_step(self) -> list[ObservedStep]:
        return [self._rewritten(step) for step in self._steps]
