"""Facts about the speed of a run: how often it was traced, how long its calls wait, and how many examples it counts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from workloads.job import Job
from workloads.program import StepRecord

if TYPE_CHECKING:
    from modern.mirrored.program import ModernProgram

#: Steps that are timed: fewer than tf.data takes for a loop that should have been traced.
STEPS = 12

#: Steps for examples/s, more than any buffer holds.
LONG = 64


@dataclasses.dataclass(frozen=True)
class RunSpeed:
    """Measurements of a run; times are in seconds.

    Attributes:
      steps: number of steps that were timed, after the first ones.
      traces: times that Python ran the replica function meanwhile.
      eager: whether the steps run without a graph.
      claimed, counted: examples of a step, as the program says and as its batches show.
      returned, finished: time until the steps' call returned, and until the weights were there.
      read: time to read the weights once more.
      resident, streamed: examples/s with one batch that stays on the devices, and with new ones; 0 if not measured.
      replicas: number of replicas.
    """

    steps: int
    traces: int
    eager: bool
    claimed: float
    counted: float
    returned: float
    finished: float
    read: float
    resident: float
    streamed: float
    replicas: int


def measure_run_speed(
    program: ModernProgram, job: Job, make_resident: Callable[[], ModernProgram] | None = None, steps: int = STEPS
) -> RunSpeed:
    """Runs a program and measures it.

    Args:
      program: a program at its first step.
      job: the program's job.
      make_resident: makes the same program with an input that costs nothing; None to leave `resident` at 0.
      steps: number of steps to time.

    Returns:
      the measurements.
    """
    record: StepRecord = program.step()
    counted = float(sum(len(ids) for ids in record.examples))
    program.run(2)
    program.state()
    traces = program.traces()
    start = time.perf_counter()
    program.run(steps)
    returned = time.perf_counter() - start
    program.state()
    finished = time.perf_counter() - start
    program.state()
    read = time.perf_counter() - start - finished
    compiled_once = not program.runs_eagerly() and program.traces() == traces
    streamed = _examples_per_second(program, job) if compiled_once else 0.0
    resident = _resident_examples_per_second(make_resident, job)
    return RunSpeed(
        steps=steps,
        traces=program.traces() - traces,
        eager=program.runs_eagerly(),
        claimed=float(getattr(program, "examples_per_step", job.global_batch)),
        counted=counted,
        returned=returned,
        finished=finished,
        read=read,
        resident=resident,
        streamed=streamed,
        replicas=job.replicas,
    )


def _resident_examples_per_second(make_resident: Callable[[], ModernProgram] | None, job: Job) -> float:
    if make_resident is None:
        return 0.0
    with make_resident() as program:
        program.run(2)
        return _examples_per_second(program, job)


def _examples_per_second(program: ModernProgram, job: Job) -> float:
    start = time.perf_counter()
    program.run(LONG)
    program.state()  # waits for the steps
    return job.global_batch * LONG / (time.perf_counter() - start)
