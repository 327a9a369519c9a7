"""How a program runs beside what it computes: traces, waiting, examples counted, input."""

from __future__ import annotations

import dataclasses
import time

#: Steps that are timed: fewer than tf.data takes for a loop that should have been traced.
STEPS = 12

#: Steps for examples/s, more than any buffer holds.
LONG = 64


@dataclasses.dataclass(frozen=True)
class RunSpeed:
    """Attributes:
    steps: that were run after the first ones.
    traces: times that Python ran the replica function meanwhile.
    eager: whether it runs without a graph.
    claimed, counted: examples of a step, as the program says and as its batches show.
    returned, finished: seconds until the steps' call returned, and until the weights were there.
    read: seconds to read the weights once more.
    resident, streamed: examples/s with one batch on the devices, and with new ones; 0 if not measured.
    replicas: how many.
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


def measure_run_speed(program, job, make_resident=None, steps=STEPS):
    """The `RunSpeed` of a modern `Program`.

    Args:
      make_resident: makes the same program with an input that costs nothing, or None.
    """
    record = program.step()
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
    per_function = not program.runs_eagerly() and program.traces() == traces
    streamed = job.global_batch * LONG / _seconds(program, LONG) if per_function else 0.0
    resident = 0.0
    if make_resident is not None:
        with make_resident() as other:
            other.run(2)
            resident = job.global_batch * LONG / _seconds(other, LONG)
    return RunSpeed(
        steps,
        program.traces() - traces,
        program.runs_eagerly(),
        float(getattr(program, "examples_per_step", job.global_batch)),
        counted,
        returned,
        finished,
        read,
        resident,
        streamed,
        job.replicas,
    )


def _seconds(program, steps):
    start = time.perf_counter()
    program.run(steps)
    program.state()
    return time.perf_counter() - start
