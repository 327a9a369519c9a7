"""`InTurnProgram`: the base of programs with one or several train ops, which take turns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored.step.step_tensors import Tensors
from modern.mirrored.traced_program import TracedProgram


class InTurnProgram(TracedProgram):
    """Base of programs whose step `n` runs train op `n` modulo their number, each a function of its own.

    A subclass also sets `strategy` and `_steps`, one for each train op: functions of a replica's batch, whose results
    have `losses`, a list of the replica's loss or of nothing.
    """

    strategy: tf.distribute.Strategy
    _steps: Sequence[Callable[[Tensors], Any]]

    @property
    def _number(self) -> int:
        """The number of the train op that the next step runs."""
        return self._step % len(self._steps)

    def run(self, steps: int) -> list[np.ndarray]:
        if len(self._steps) == 1:
            return super().run(steps)
        self._start()
        with self._user_ops():
            for _ in range(steps):  # train ops in turn: one call a step
                losses = self._observed[self._number](self._batches)[0].losses
                self._step += 1
        losses = self.strategy.experimental_local_results(losses[0]) if losses else []
        return [np.mean(loss) for loss in losses]

    def _observed_step(self) -> list[Any]:
        """Returns a `tf.function` for each train op."""
        return [tf.function(functools.partial(self._run_observed, step), autograph=False) for step in self._steps]

    def _run_observed(self, step: Callable[[Tensors], Any], batches: Any) -> tuple[Any, Tensors]:
        batch = self._input.take(batches)
        return self.strategy.run(step, (batch,)), batch

    def _run_once(self) -> list[tf.Tensor]:
        """Takes one step; returns each replica's mean loss, or nothing if the losses are not known."""
        return self._run_on(self._input.take(self._batches))

    def _run_on(self, batch: Tensors) -> list[tf.Tensor]:
        results = self.strategy.run(self._steps[0], (batch,))
        local = self.strategy.experimental_local_results
        return [tf.reduce_mean(loss) for loss in local(results.losses[0])] if results.losses else []
