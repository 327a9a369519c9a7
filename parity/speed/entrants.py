"""Programs that enter a speed measurement with one input: both sides and the port on one device, compared first."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from parity.comparison.judging import tolerance
from parity.comparison.judging.noise_floor import NoiseFloor
from parity.comparison.references import References
from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from parity.speed import one_device
from parity.speed.all_cores import FasterProgram
from parity.speed.joint_verification import Rival, verify_together
from parity.speed.names import LEGACY, MODERN, ONE_DEVICE
from parity.speed.program_process import ProgramProcess
from parity.speed.speed_result import Contestant
from parity.speed.timing import Runner
from workloads.program import Program


class Entrant(NamedTuple):
    """A program and its place in the result.

    Attributes:
      contestant: its name, input and verification.
      runner: the program; None if it cannot be timed, for the reason in `contestant.problem`.
    """

    contestant: Contestant
    runner: Runner | None


@dataclasses.dataclass
class ParityCheck:
    """Settings of the comparison before the timing, and what it has shown with the first input.

    Identical bits need no further judge. Where bits differ the mathematics is judged in float64 too, which takes three
    more programs; the noise floors that it measures then serve for the second input, whose programs compute the same
    from other batches.

    Attributes:
      steps: number of steps.
      progress: called with the number of steps done.
      floors: {name of a program: its noise floor}, of those that were judged in float64.
      own_process: where the port on one device has all cores; None where it has them here.
      parts: why the port on one device takes the batch in parts; "" if it need not; None if that is not known yet.
    """

    steps: int
    progress: Callable[[int], object]
    floors: dict[str, NoiseFloor] = dataclasses.field(default_factory=dict)
    parts: str | None = None
    own_process: ProgramProcess | None = None


def enter_programs(
    stack: contextlib.ExitStack, setup: Setup, input_name: str, comparison: ParityCheck, left: Program | None = None
) -> list[Entrant]:
    """Makes the programs of one input and compares them step by step, with the very kernels that will be timed.

    Args:
      stack: closes the programs.
      setup: the job with that input.
      input_name: one of `names.INPUTS`.
      comparison: how they are compared; what is found is entered.
      left: legacy's program, which may have taken some steps; None makes one.

    Returns:
      legacy, the port, and the port on one device; the last without a program if there is none or it is not equal.
    """
    if left is None:
        left = stack.enter_context(setup.legacy_program())
    right = stack.enter_context(setup.modern_program())
    against = one_device.reason_against(setup)
    if comparison.parts is None:
        comparison.parts = "" if against else one_device.reason_for_parts(setup.job)
    rivals = {MODERN: _port_rival(setup, right, comparison)}
    if not against:
        rivals[ONE_DEVICE] = _one_device_rival(stack, setup, comparison)
    results = _compare(left, rivals, setup, comparison)
    if not against and not comparison.parts and results[MODERN].passed and not results[ONE_DEVICE].passed:
        comparison.parts = "the whole batch at once is other mathematics"
        rivals = {ONE_DEVICE: _one_device_rival(stack, setup, comparison)}
        results.update(_compare(left, rivals, setup, comparison))
    batch = setup.job.global_batch
    last = Contestant(ONE_DEVICE, input_name, batch, note=against or _note(comparison.parts, setup))
    lone = rivals[ONE_DEVICE].program if not against else None
    if lone is not None:
        last.settings, last.verification = lone.describe(), results[ONE_DEVICE]
        last.problem = "" if last.verification.passed else "not equal to the towers"
    timed: Runner | None = lone
    if lone is not None and comparison.own_process is not None:
        there = comparison.own_process.start(one_device.one_device_program, setup, bool(comparison.parts))
        timed = FasterProgram(lone, there, setup.threads_within_ops())
    return [
        Entrant(Contestant(LEGACY, input_name, batch, left.describe()), left),
        Entrant(Contestant(MODERN, input_name, batch, right.describe(), results[MODERN]), right),
        Entrant(last, None if last.problem else timed),
    ]


def _note(parts: str, setup: Setup) -> str:
    return f"the batch in {setup.job.replicas} parts: {parts}" if parts and setup.job.replicas > 1 else ""


def _port_rival(setup: Setup, right: Program, comparison: ParityCheck) -> Rival:
    units = tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules)
    return Rival(right, one_device.AsItIs, units=units, floor=comparison.floors.get(MODERN))


def _one_device_rival(stack: contextlib.ExitStack, setup: Setup, comparison: ParityCheck) -> Rival:
    make = functools.partial(one_device.one_device_program, setup, bool(comparison.parts))
    view = one_device.AsItIs if comparison.parts else one_device.TowersAsOne
    floor = comparison.floors.get(ONE_DEVICE)
    return Rival(stack.enter_context(make()), view, functools.partial(make, "float64"), floor=floor)


def _compare(
    left: Program, rivals: Mapping[str, Rival], setup: Setup, comparison: ParityCheck
) -> dict[str, Verification]:
    """{name: result}; of the rivals whose bits differ and exceed any known noise floor, judged in float64 too."""

    def verify(chosen: Mapping[str, Rival], references: References | None) -> dict[str, Verification]:
        steps, progress = comparison.steps, comparison.progress
        outcomes = verify_together(left, list(chosen.values()), setup.job, steps, references, progress)
        floors = {name: outcome.floor for name, outcome in zip(chosen, outcomes)}
        comparison.floors.update({name: floor for name, floor in floors.items() if floor is not None})
        return {name: outcome.verification for name, outcome in zip(chosen, outcomes)}

    starts = [(program, program.state()) for program in (left, *(rival.program for rival in rivals.values()))]
    results = verify(rivals, None)
    unsettled = {name: rival for name, rival in rivals.items() if not _is_settled(results[name], rival.floor)}
    if unsettled:
        for program, state in starts:  # the initial values of each side are compared again
            program.load(state)
        with setup.closing_references() as references:
            results.update(verify(unsettled, references))
    return results


def _is_settled(result: Verification, floor: NoiseFloor | None) -> bool:
    """Whether a comparison in the run's own precision is enough."""
    return result.has_identical_bits or (result.passed and floor is not None)
