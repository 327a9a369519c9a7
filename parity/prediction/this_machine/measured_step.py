"""Predictions for the CPU of this machine beside measured steps: the error to expect of every other prediction."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from parity.comparison.setup import Setup
from parity.prediction.legacy_graph import read_towers, towers_program
from parity.prediction.machines.machine import Link, Machine, Processor
from parity.prediction.machines.selection import THIS_CPU
from parity.prediction.prediction import predict, step_graph
from parity.prediction.this_machine.calibration import calibrated_cpu, slowed_down
from parity.prediction.this_machine.pace import Paces, paces_of_this_machine
from parity.speed.timing import Block, Runner, block_steps, time_rounds
from workloads import sources
from workloads.job import Job
from workloads.program import Program
from workloads.selection import registry

#: Steps before anything is timed.
WARM_UP = 5


class MeasuredStep(NamedTuple):
    """A predicted step and the measured one.

    Attributes:
      name: of the program.
      side: "legacy" or "modern".
      replicas: number of logical devices.
      predicted: seconds.
      measured: seconds, the median over blocks.
    """

    name: str
    side: str
    replicas: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Relative error of the prediction: 0.25 if it is a quarter too long."""
        return self.predicted / self.measured - 1

    def to_json(self) -> dict[str, Any]:
        """Returns the row for `--json`; times in seconds."""
        return {**self._asdict(), "error": self.error}


class Alternative(NamedTuple):
    """One way to run a job.

    Attributes:
      side: "legacy" or "modern".
      setup: the job and its options.
    """

    side: str
    setup: Setup

    def program(self) -> Program:
        """Makes the program."""
        return self.setup.legacy_program() if self.side == "legacy" else self.setup.modern_program()


def this_machine(setup: Setup, paces: Paces) -> Machine:
    """Returns the CPU of this machine, calibrated by the ops of a job's towers, at the standards of paces."""
    unmeasured = Processor("this CPU", {"float32": 1.0}, 1.0, 1.0, 0.0)
    rough = Machine(THIS_CPU, None, setup.logical_cpus, unmeasured, Link("memory", 1.0, 0.0))
    with towers_program(setup, rough) as program:
        return calibrated_cpu(program.graph, read_towers(program), setup.logical_cpus, paces)


def small_setup(setup: Setup) -> Setup:
    """Returns the setup whose steps are measured here: the small size of a built-in workload, on resident batches.

    Other workloads are run as they are.
    """
    name = setup.job.workload.name
    legacy = dataclasses.replace(setup.legacy, input="resident")
    if name not in registry.NAMES:
        return dataclasses.replace(setup, legacy=legacy)
    job = Job(registry.get(name), min(setup.job.replicas, 2))
    return dataclasses.replace(setup, job=job, legacy=legacy, make_source=sources.Resident)


def measure_alternatives(
    alternatives: Mapping[str, Alternative], setup: Setup, seconds: float, rounds: int
) -> list[MeasuredStep]:
    """Predicts ways to run a job on this CPU, and times them in interleaved rounds.

    The speed of the machine drifts. It is calibrated at the paces that it had at the start; a prediction is for those
    that it has during the rounds, which small graphs measure that take turns with the alternatives.

    Args:
      alternatives: {name: how to run the job}.
      setup: the CPU is calibrated by its towers.
      seconds: length of a timed block, about.
      rounds: number of rounds; even.

    Returns:
      a row for each.
    """
    setup.start_devices()
    with contextlib.ExitStack() as stack:
        paces = stack.enter_context(paces_of_this_machine())
        machine = this_machine(setup, paces)
        graphs = [step_graph(way.setup, way.side, machine) for way in alternatives.values()]
        programs = [stack.enter_context(way.program()) for way in alternatives.values()]
        for program in programs:
            program.run(WARM_UP)
        calls = [1] * len(paces) + [way.setup.modern.steps_per_call for way in alternatives.values()]
        runners: list[Runner] = [*paces, *programs]
        blocks = [Block(runner, block_steps(runner, call, seconds)) for runner, call in zip(runners, calls)]
        times = time_rounds(blocks, rounds)
    measured = [statistics.median(times.seconds_per_step(number)) for number in range(len(runners))]
    then = slowed_down(machine, *(now / pace.standard for now, pace in zip(measured, paces)))
    return [
        MeasuredStep(name, way.side, way.setup.job.replicas, predict(graph, then).seconds, seconds_of_step)
        for (name, way), graph, seconds_of_step in zip(alternatives.items(), graphs, measured[len(paces) :])
    ]
