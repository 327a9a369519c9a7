"""`TracedProgram`: the base of the programs whose steps are traced functions."""

from __future__ import annotations

import abc
import contextlib
import threading
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored import step_loop
from modern.mirrored.input.replica_input import ReplicaInput
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.step_tensors import Tensors
from modern.options import ModernOptions
from workloads.job import Job
from workloads.program import Program, State
from workloads.support.user import user_code

#: Name of the thread in which a closed program's input ends.
ENDING_INPUT = "ending input"


class TracedProgram(Program):
    """Base of the port's programs in one process.

    The loop over many steps captures the open input, since looking distributed values up by type at every call takes
    longer than a small model's step; so it is traced again when the input starts anew. The function of one observed
    step takes the input as its argument, so that a comparison may jump to any step without tracing anew.

    A subclass sets in its constructor: `_job`, `_options`, `_variables`, `_input` and `_step`.
    """

    side = "modern"

    _job: Job
    _options: ModernOptions
    _variables: MirroredState
    _input: ReplicaInput
    _step: int
    #: The open input; the function or functions of one observed step; the loop over many steps. None: not started.
    _batches: Any = None
    #: Whether the open input's next batch is that of the current step.
    _is_in_step: bool = False
    _observed: Any = None
    _many: Any = None

    def load(self, state: State) -> None:
        self._variables.load(state)
        if state.step != self._step:
            self._step, self._is_in_step = state.step, False

    def state(self) -> State:
        return self._variables.read()[0]

    def run(self, steps: int) -> list[np.ndarray]:
        self._start()
        if self._many is None:
            self._many = step_loop.trace_step_loop(self._run_once, self._loss_count(), self._loss_dtype())
        with self._user_ops():
            losses = step_loop.run_steps(self._many, steps, self._options.steps_per_call)
        self._step += steps
        return losses

    def trace_step(self) -> Any:
        """Traces one step on placeholders for its batch and returns its `tf.Graph`; nothing is run or read."""
        step = tf.function(lambda: self._run_on(self._input.placeholders()), autograph=False)
        return step.get_concrete_function().graph

    def close(self) -> None:
        """Lets go of the input and of the functions that read it.

        An open input ends when the batches that it reads ahead are made, and the threads that hand them on notice,
        which takes up to seconds. Nobody has to wait for that.
        """
        self._input.close()
        self._observed = self._many = None
        opened, self._batches, self._is_in_step = [self._batches], None, False
        threading.Thread(target=opened.clear, name=ENDING_INPUT).start()

    def _user_ops(self) -> contextlib.AbstractContextManager[None]:
        """Makes the context in which the user's ops run: their errors are reported with the user's file and line."""
        workload = self._job.workload
        return user_code.running(f"{workload.name}.loss", workload.loss, cause=lambda: self._input.failure)

    def _start(self) -> None:
        """Opens the input at the current step; the functions that are traced from here on read it."""
        if not self._is_in_step:
            self._batches, self._is_in_step = self._input.start(self._step), True
            self._observed = self._observed or self._observed_step()
            self._many = None

    def _start_observed(self) -> None:
        """Makes the current step's batch ready for one observed step; after a jump that batch alone."""
        if self._batches is None or self._is_in_step or not self._input.put(self._step):
            self._start()

    @abc.abstractmethod
    def _observed_step(self) -> Any:
        """Makes the `tf.function` of one step whose values are observed; it is called with the open input."""

    @abc.abstractmethod
    def _run_once(self) -> list[Any]:
        """Takes one step inside the traced loop; returns its scalar losses, or an empty list if there are none."""

    def _run_on(self, batch: Tensors) -> list[Any]:
        """Takes one step on a per-replica batch; returns what `_run_once` does."""
        raise NotImplementedError(f"{type(self).__name__} has no per-replica batches")

    def _loss_count(self) -> int:
        """Number of losses that `_run_once` returns: one for each replica in this process."""
        return self._job.replicas

    def _loss_dtype(self) -> str:
        return self._job.dtype
