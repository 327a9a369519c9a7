"""How a program runs beside what it computes: traces, waiting, examples counted, input."""

from __future__ import annotations

import dataclasses
import time


@dataclasses.dataclass(frozen=True)
class Pace:
    """Attributes:
    steps: that were run after the first ones.
    traces: times that Python ran the replica function meanwhile.
    eager: whether it runs without a graph.
    claimed, counted: examples of a step, as the program says and as its batches show.
    returned, finished: seconds until the steps' call returned, and until the weights were there.
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
    resident: float
    streamed: float
    replicas: int


def measure(program, job, make_resident=None, steps=40):
    """The `Pace` of a modern `Program`.

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
    resident = 0.0
    if make_resident is not None:
        with make_resident() as other:
            resident = job.global_batch * steps / _seconds(other, steps)
    return Pace(
        steps,
        program.traces() - traces,
        program.runs_eagerly(),
        float(getattr(program, "examples_per_step", job.global_batch)),
        counted,
        returned,
        finished,
        resident,
        job.global_batch * steps / finished,
        job.replicas,
    )


def _seconds(program, steps):
    program.run(steps)
    start = time.perf_counter()
    program.run(steps)
    program.state()
    return time.perf_counter() - start
