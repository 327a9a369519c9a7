"""Causes of a slow run, or of a speed that is measured wrongly; none changes a number of the training."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from modern.mirrored.program import ModernProgram
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding, RecognizedCause
from parity.comparison.fits import near
from workloads import sources
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.facts.run_speed import RunSpeed
    from workloads.program import Arrays, Program, State

STAGE = "speed"

#: Work is waited for too late if it goes on for so many times as long as weights take to be read, or the call took.
MOST_READS, MOST_CALLS = 3, 1

#: The input takes the time if a resident batch is faster by the first factor; for sure by the second.
FASTER, SURELY_FASTER = 2, 3


def eager_run(speed: RunSpeed) -> Finding | None:
    """Recognizes EAGER_RUN: the steps run without a graph."""
    if not speed.eager:
        return None
    return Finding(
        "strategy.run is called eagerly: every op of every replica goes through Python.",
        HIGH,
        "the replica function runs without a graph",
    )


def retrace(speed: RunSpeed) -> Finding | None:
    """Recognizes RETRACE: the step is traced at least once a step."""
    if speed.traces < speed.steps or speed.eager:
        return None
    return Finding(
        f"The step was traced {speed.traces} times in {counted(speed.steps, 'step')}: it is compiled anew each time.",
        HIGH,
        "Python ran the replica function that often after the first call",
    )


def examples_miscounted(speed: RunSpeed) -> Finding | None:
    """Recognizes EXAMPLES_MISCOUNTED: the program claims another number of examples than its batches have."""
    ratio = speed.claimed / speed.counted if speed.counted else 1.0
    if near(ratio, 1):
        return None
    meaning = ""
    if near(ratio, speed.replicas):
        meaning = " (N, the number of replicas)"
    elif near(ratio, 1 / speed.replicas):
        meaning = " (1/N, N being the number of replicas)"
    return Finding(
        f"{speed.claimed:g} examples a step are reported and {speed.counted:g} are consumed: the reported examples/s "
        f"are {ratio:g} x the true ones{meaning}.",
        HIGH if meaning else MEDIUM,
        "counted from the replicas' batches",
    )


def async_timing(speed: RunSpeed) -> Finding | None:
    """Recognizes ASYNC_TIMING: the call returns long before the work is done."""
    waited = speed.finished - speed.returned
    if waited < MOST_READS * speed.read or waited < MOST_CALLS * speed.returned:
        return None
    return Finding(
        f"The calls for {counted(speed.steps, 'step')} return after {speed.returned:.3g} s and their work is done "
        f"after {speed.finished:.3g} s: the clock was read before the work was done.",
        HIGH,
        "weights were read back to wait for the work",
    )


def input_bound(speed: RunSpeed) -> Finding | None:
    """Recognizes INPUT_BOUND: steps on a batch that stays on the devices are much faster."""
    if eager_run(speed) or retrace(speed) or async_timing(speed):
        return None
    if not speed.streamed or speed.resident <= FASTER * speed.streamed:
        return None
    return Finding(
        f"Steps on a batch that stays on the devices are {speed.resident / speed.streamed:.1f} x as fast as steps on "
        "new batches: most of the time is spent on the input.",
        HIGH if speed.resident > SURELY_FASTER * speed.streamed else MEDIUM,
        f"{speed.resident:.4g} against {speed.streamed:.4g} examples/s",
    )


def recognize_causes(speed: RunSpeed) -> list[RecognizedCause]:
    """Returns all causes of speed that the measurements show, in the order of `CAUSES`."""
    findings = [(cause, cause.criterion(speed)) for cause in CAUSES]
    return [RecognizedCause(cause, finding) for cause, finding in findings if finding is not None]


class _RetracingProgram(ModernProgram):
    """Hands the step's number to its traced function as a Python number."""

    def run(self, steps: int) -> list[np.ndarray]:
        import tensorflow as tf

        self._start()
        if self._many is None:
            self._many = tf.function(lambda number: self._run_once(), autograph=False)
        for number in range(self._step, self._step + steps):
            losses = self._many(number)
        self._step += steps
        return [loss.numpy() for loss in losses]


class _EagerProgram(ModernProgram):
    """Runs its steps without a graph."""

    def run(self, steps: int) -> list[np.ndarray]:
        self._start()
        for _ in range(steps):
            losses = self._run_once()
        self._step += steps
        return [loss.numpy() for loss in losses]


class _AsynchronousProgram(ModernProgram):
    """Hands its steps to a thread and returns, as a GPU's queue does."""

    _thread: threading.Thread | None = None

    def run(self, steps: int) -> list[np.ndarray]:
        self._join()
        self._thread = threading.Thread(target=super().run, args=(steps,))
        self._thread.start()
        return [np.zeros(())] * self._job.replicas

    def state(self) -> State:
        self._join()
        return super().state()

    def _join(self) -> None:
        """Waits for the steps that were started."""
        if self._thread is not None:
            self._thread.join()


class _OneReplicaCountedProgram(ModernProgram):
    """Reports one replica's examples for those of all."""

    @property
    def examples_per_step(self) -> int:
        """The number of examples that this program claims to consume in a step."""
        return self._job.per_replica_batch


class _SlowSource(sources.Synthetic):
    """Takes 20 ms for a batch, as a slow disk does."""

    def batch(self, step: int) -> Arrays:
        time.sleep(0.02)
        return super().batch(step)


def _in_program(program_class: type[ModernProgram], **options: Any) -> Callable[[Setup], Program]:
    """Replaces the class of the port's program, and fields of `ModernOptions`."""

    def inject(setup: Setup) -> Program:
        modern = dataclasses.replace(setup.modern, **options)
        return program_class(setup.job, setup.make_source(setup.job), modern, setup.devices())

    return inject


def _slow_input(setup: Setup) -> Program:
    return dataclasses.replace(setup, make_source=_SlowSource).modern_program()


CAUSES = (
    Cause(
        id="EAGER_RUN",
        stage=STAGE,
        title="strategy.run outside a tf.function",
        signature="A step takes 20 times as long as one in a graph, and more; its time hardly depends on the batch",
        why="Eager execution runs every op of every replica from Python, one replica after the other.",
        fix="Wrap the loop over steps, or at least the step, in a tf.function.",
        criterion=eager_run,
        faults=(Fault("run_eagerly", _in_program(_EagerProgram, autodiff="tape")),),
        pitfall="R35",
    ),
    Cause(
        id="RETRACE",
        stage=STAGE,
        title="the step is traced again and again",
        signature="The number of traces grows with the steps",
        why="The function gets a Python number as an argument, or other shapes, or is a new function object each time.",
        fix="Hand over tensors; make the function once; set input_signature.",
        criterion=retrace,
        faults=(Fault("step_number_as_python_int", _in_program(_RetracingProgram)),),
        pitfall="R35",
    ),
    Cause(
        id="EXAMPLES_MISCOUNTED",
        stage=STAGE,
        title="examples are counted wrongly",
        signature="The reported examples/s are N times, or 1/N of, those in the batches",
        why="One replica's batch is counted for all, or the global batch once for each replica.",
        fix="Count examples from the batches' shapes, over all replicas.",
        criterion=examples_miscounted,
        faults=(Fault("one_replicas_examples_counted", _in_program(_OneReplicaCountedProgram)),),
        pitfall="R33",
    ),
    Cause(
        id="ASYNC_TIMING",
        stage=STAGE,
        title="the clock is read before the work is done",
        signature="The call returns long before its results are there",
        why="Ops on a GPU are queued, and the call returns at once; Session.run waited for the results.",
        fix="Read a result back, or call tf.test.experimental.sync_devices(), before reading the clock.",
        criterion=async_timing,
        faults=(Fault("clock_read_too_early", _in_program(_AsynchronousProgram)),),
        pitfall="R34",
    ),
    Cause(
        id="INPUT_BOUND",
        stage=STAGE,
        title="the input takes most of the time",
        signature="Examples/s on one resident batch are far more than on new batches",
        why="Reading, decoding or copying is slower than the step.",
        fix="Use prefetch and a parallel map, and fetch several steps' batches at once; compare steps on resident "
        "batches.",
        criterion=input_bound,
        faults=(Fault("slow_input", _slow_input),),
        pitfall="R36",
    ),
)
