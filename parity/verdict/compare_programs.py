"""Comparison of a setup's two programs: makes them, verifies them step by step and shows the progress."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import NamedTuple

from parity.comparison import tolerance
from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from parity.comparison.verification import verify
from parity.reports.progress import Progress
from workloads.program import Program


@dataclasses.dataclass(frozen=True)
class ComparisonPlan:
    """Steps, mode and tolerance of a comparison.

    Attributes:
      steps: number of steps.
      mode: "free" or "locked"; see `verify`.
      tolerance_name: "exact" or "auto"; see `tolerance`.
      with_references: under "auto", judge the mathematics in float64 and measure the noise floor.
    """

    steps: int
    mode: str = "free"
    tolerance_name: str = "exact"
    with_references: bool = True


class Settings(NamedTuple):
    """Each program's description of itself, {setting: text}."""

    left: dict[str, str]
    right: dict[str, str]


class Comparison(NamedTuple):
    """The result of a comparison and the settings of the two programs that were compared."""

    verification: Verification
    settings: Settings


def settings_of_programs(left: Program, right: Program) -> Settings:
    """Returns both programs' descriptions of themselves."""
    return Settings(left.describe(), right.describe())


def compare_programs(setup: Setup, left: Program | None, plan: ComparisonPlan) -> Comparison:
    """Compares a program with the port, and shows the progress on stderr.

    Args:
      setup: the job and how both sides run it.
      left: a recording of the towers; None for towers that are built here.
      plan: steps, mode and tolerance.

    Returns:
      the verification and both programs' settings.
    """
    auto = plan.tolerance_name == "auto"
    with_lockstep = auto and plan.mode == "free"
    progress = Progress("verify " + setup.job.workload.name)

    def show(done: int, so_far: Verification) -> None:
        progress.update(done, plan.steps, "" if so_far.passed else "NO PARITY")

    with contextlib.ExitStack() as stack:
        left = stack.enter_context(setup.legacy_program() if left is None else left)
        right = stack.enter_context(setup.modern_program())
        lockstep = stack.enter_context(setup.modern_program()) if with_lockstep else None
        references = stack.enter_context(setup.closing_references()) if auto and plan.with_references else None
        verification = verify(
            left,
            right,
            setup.job,
            plan.steps,
            plan.mode,
            plan.tolerance_name,
            lockstep=lockstep,
            references=references,
            progress=show,
            units=tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules),
        )
        progress.done()
        return Comparison(verification, settings_of_programs(left, right))
