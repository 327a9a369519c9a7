"""Study of communication: the forms of the job, their times at a batch and width, and predicted times."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from legacy.options import LegacyOptions
from legacy.towers.program import LegacyProgram
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.host_apart import towers_beside_the_host
from parity.experiments.studies.alternatives.predicted import predict_alternative
from parity.experiments.studies.alternatives.turns import Turns, TurnTimes
from parity.profiling.device_trace import trace_session
from parity.speed.names import LEGACY, MODERN
from parity.speed.ratio import SpeedRatio
from workloads import sources
from workloads.job import Job
from workloads.program import Program
from workloads.selection import registry


class Form(NamedTuple):
    """A way to run the job.

    Attributes:
      name: of its column.
      side: "legacy" or "modern".
      replicas: number of towers or replicas.
      variables: see `LegacyOptions.variables`.
    """

    name: str
    side: str
    replicas: int
    variables: str = "cpu"


ONE, ONE_REPLICA = Form("1 tower", LEGACY, 1), Form("1 replica of the port", MODERN, 1)

TWO = Form("2 towers, variables on the CPU", LEGACY, 2)

TWO_ON_FIRST = Form("2 towers, variables on the first tower's device", LEGACY, 2, "tower")

FOUR = Form("4 towers, variables on the CPU", LEGACY, 4)

TWO_REPLICAS = Form("2 replicas of the port", MODERN, 2)

#: {form: the one that its time is relative to}.
BASES = {TWO: ONE, TWO_ON_FIRST: ONE, FOUR: ONE, TWO_REPLICAS: ONE_REPLICA}

FORMS = (ONE, ONE_REPLICA, *BASES)

#: Two GPUs to predict for.
MACHINES = ("gtx1060x2", "p100x2", "v100x2")


class Point(NamedTuple):
    """The measurement of one batch and width.

    Attributes:
      width: of the hidden layers, over the write-up's.
      global_batch: examples of a step.
      slowdowns: {name of a form: its step's time over that of its base}.
      first_over_cpu: speed of two towers with the variables on the first one's device over that with them on the CPU.
      milliseconds: of one tower's step, the median.
      bytes_crossing: bytes that cross between the host and two towers in a step.
    """

    width: float
    global_batch: int
    slowdowns: Mapping[str, SpeedRatio]
    first_over_cpu: SpeedRatio
    milliseconds: float
    bytes_crossing: int


def alternative(form: Form, width: float, global_batch: int, legacy_input: str = "resident") -> Alternative:
    """Makes a form of the job.

    Args:
      form: the form.
      width: of the hidden layers, over the write-up's.
      global_batch: examples of a step.
      legacy_input: see `LegacyOptions.input`.

    Returns:
      the alternative; the towers' devices are not the host's.
    """
    seed = cast(Any, registry.get("regression", "seed"))
    workload = dataclasses.replace(seed, hidden=tuple(max(1, int(width * units)) for units in seed.hidden))
    options = LegacyOptions(input=legacy_input, variables=form.variables)
    job = Job(workload, form.replicas, global_batch)
    setup = Setup(job, sources.Resident, options, ModernOptions(variables="auto"), "cpu", towers=towers_beside_the_host)
    return Alternative(form.name, form.side, setup)


def measure_point(turns: Turns, width: float, global_batch: int) -> Point:
    """Times all forms at one batch and width.

    Args:
      turns: the processes.
      width: of the hidden layers, over the write-up's.
      global_batch: examples of a step.

    Returns:
      the measurement.
    """
    made = [alternative(form, width, global_batch) for form in FORMS]
    times = turns.time(made, f"batch {global_batch}, width {width:g}: rounds")
    crossing = turns.observe(made[FORMS.index(TWO)], bytes_of_step)
    return point_of_times(width, global_batch, times, crossing)


def point_of_times(width: float, global_batch: int, times: TurnTimes, bytes_crossing: int) -> Point:
    """Returns the `Point` of all forms' times; see there for the arguments.

    Args:
      width: see `Point`.
      global_batch: see `Point`.
      times: of one example, by form.
      bytes_crossing: see `Point`.

    Returns:
      the point.
    """
    return Point(
        width,
        global_batch,
        {form.name: times.speed(base.name, form.name) for form, base in BASES.items()},
        times.speed(TWO_ON_FIRST.name, TWO.name),
        1000 * times.median(ONE.name) * global_batch,
        bytes_crossing,
    )


def bytes_of_step(program: Program) -> int:
    """Returns the bytes that cross between devices in a step of towers; runs in their process."""
    program.run(1)
    return sum(trace_session(cast(LegacyProgram, program)).crossing.values())


def predicted_slowdowns(batches: Sequence[int]) -> dict[str, dict[int, float]]:
    """Predicts the time of two towers, as the write-up fed them, over that of one, on devices of their own.

    Args:
      batches: global batches.

    Returns:
      {machine of `MACHINES`: {global batch: time over one tower's}}.
    """
    found: dict[str, dict[int, float]] = {machine: {} for machine in MACHINES}
    for batch in batches:
        one, two = (predict_alternative(alternative(form, 1.0, batch, "feed"), MACHINES) for form in (ONE, TWO))
        for machine in MACHINES:
            found[machine][batch] = two[machine].seconds / one[machine].seconds
    return found
