"""Comparison of a setup's two programs: makes them, verifies them step by step and shows the progress."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from legacy.towers.program import LegacyProgram
from parity.causes.terms import RecordingInTerms
from parity.comparison import stages
from parity.comparison.history import History
from parity.comparison.judging import tolerance
from parity.comparison.result import Verification
from parity.comparison.runs.options import Companions, Criterion, Observers, StepCheck
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from parity.coverage.measuring.measurement import Measurement
from parity.processes.interruption import Interruption
from parity.reports.stage_states import stage_states
from parity.verdict.bound_visits import visit_bounds, visit_clip
from parity.verdict.measurement_plan import CoveragePlan, measurement
from parity.verdict.near_batches import with_near_batches
from parity.verdict.period import too_few_steps
from workloads.program import Program
from workloads.progress.progress import Progress
from workloads.records.reader import Recording
from workloads.support.machine import environment

if TYPE_CHECKING:
    from parity.verdict.metrics_check import MetricsCheck
    from workloads.data.batches import Batches


#: The reason why activations that were asked for are not compared.
NO_TAPS = "activations: no tap has one name on both sides; scope.tap(name, x) names a tensor of a workload"

#: The reason why a job without data shows nothing.
NO_EXAMPLES = "training on examples: no data enter a step, which trains on constants or on random numbers alone"


@dataclasses.dataclass(frozen=True)
class ComparisonPlan:
    """Steps, mode and tolerance of a comparison.

    Attributes:
      steps: number of steps.
      mode: "free" or "locked"; see `verify`.
      tolerance_name: "exact" or "auto"; see `tolerance`.
      with_references: under "auto", judge the mathematics in float64 and measure the noise floor.
      with_visits: also take single steps from states in which choices act that the first steps do not exercise.
      whole_coverage: besides the named choices, change every constant of the towers' graph.
      with_history: keep the losses of all steps, and the difference of each tensor.
    """

    steps: int
    mode: str = "free"
    tolerance_name: str = "exact"
    with_references: bool = True
    with_visits: bool = True
    whole_coverage: bool = False
    with_history: bool = False

    @property
    def is_auto(self) -> bool:
        """Whether differences within rounding are allowed."""
        return self.tolerance_name == "auto"


class Settings(NamedTuple):
    """Each program's description of itself, {setting: text}."""

    left: dict[str, str]
    right: dict[str, str]


class Comparison(NamedTuple):
    """The result of a comparison.

    Attributes:
      verification: the verdict and the comparisons behind it.
      settings: of the two programs that were compared.
      coverage: which mutants of the job the comparison would have seen; None where that was not measured.
      history: of all steps, where the plan asks for it.
    """

    verification: Verification
    settings: Settings
    coverage: Measurement | None = None
    history: History | None = None


def settings_of_programs(left: Program, right: Program) -> Settings:
    """Returns both programs' descriptions of themselves."""
    return Settings(left.describe(), right.describe())


def compare_programs(
    setup: Setup,
    left: Program | None,
    plan: ComparisonPlan,
    interruption: Interruption | None = None,
    examples: Batches | None = None,
) -> Comparison:
    """Compares a program with the port, and shows the progress on stderr.

    Args:
      setup: the job and how both sides run it.
      left: a recording of the towers; None for towers that are built here.
      plan: steps, mode and tolerance.
      interruption: ends the comparison early; None for none.
      examples: to evaluate the workload's metrics on, after the last step; or None.

    Returns:
      the verification and both programs' settings.
    """
    setup, is_built = with_near_batches(setup, plan.steps), left is None
    progress = Progress("verify " + setup.job.workload.name)
    progress.stage("building both sides")
    history = History() if plan.with_history else None
    # The rules know both ways to hold an optimizer's constants; a recording may have been made in either of them.
    rule_units = tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules)
    units = rule_units if setup.record_filter is None else tolerance.recorded_units(setup.job.workload.optimizer)
    with contextlib.ExitStack() as stack:
        left, right, companions = _enter_programs(stack, setup, left, plan)
        in_double = companions.references is not None and not companions.references.single_only
        no_visits = _why_no_visits(setup, left, plan)
        extent = CoveragePlan(plan.tolerance_name, in_double, rule_units, no_visits, plan.whole_coverage)
        coverage = stack.enter_context(measurement(setup, left.variables(), extent, progress.note))
        metrics = None if examples is None else stack.enter_context(_metrics_check(setup, examples, plan))
        observers = Observers(
            coverage,
            _rule_check(setup, rule_units) if plan.is_auto else None,
            history,
            progress=_after_each_step(progress, plan.steps, interruption),
            stop=lambda: interruption is not None and interruption.asked,
            at_end=None if metrics is None else metrics.measure,
        )
        criterion = Criterion(plan.mode, plan.tolerance_name, units)
        progress.stage("the first step, and its mutants")  # which in a deep net take longer than the programs
        verification = verify(left, right, setup.job, plan.steps, criterion, companions, observers)
        if not plan.is_auto and verification.passed and not verification.partial:
            if setup.job.workload.is_lifted:
                visit_bounds(setup, coverage, verification)
            visit_clip(setup, left.variables(), coverage, verification)
        if metrics is not None:
            metrics.enter(verification)
        if companions.references is not None:
            verification.unproven += _unproven(verification, setup)
        verification.not_shown += _not_shown(verification, coverage, setup, plan.steps if is_built else None)
        progress.done()
        return Comparison(verification, settings_of_programs(left, right), coverage, history)


class _Programs(NamedTuple):
    """The programs of a comparison."""

    left: Program
    right: Program
    companions: Companions


def _enter_programs(stack: contextlib.ExitStack, setup: Setup, left: Program | None, plan: ComparisonPlan) -> _Programs:
    """Makes the programs, the left one if it is not given; `stack` closes them."""
    left = stack.enter_context(setup.legacy_program() if left is None else left)
    right = stack.enter_context(setup.modern_program())
    lockstep = stack.enter_context(setup.modern_program()) if plan.is_auto and plan.mode == "free" else None
    references = None
    if plan.is_auto and plan.with_references:
        references = stack.enter_context(setup.closing_references(_weight_ulps(left)))
    return _Programs(left, right, Companions(lockstep, references))


def _weight_ulps(left: Program) -> int:
    """Returns the last bits of weights that stand for the rounding of both sides' kernels in `References.sensitivity`.

    A recording that another version of TensorFlow made, or another library, has sums in other orders.
    """
    if not isinstance(left, (Recording, RecordingInTerms)):
        return 1
    made_with = left.manifest.get("environment", {}).get("tensorflow")
    return 1 if made_with == environment.describe()["tensorflow"] else tolerance.KERNEL_ULPS


def _after_each_step(
    progress: Progress, steps: int, interruption: Interruption | None
) -> Callable[[int, Verification], None]:
    """Returns the function that shows the progress of a comparison, called with (steps done, result so far)."""

    def show(done: int, so_far: Verification) -> None:
        text = "" if so_far.passed else "NO PARITY"
        progress.update(done, steps, text, so_far.loss, stage_states(so_far.stages))
        if interruption is not None:
            interruption.keep_results()
        if done == steps:
            progress.stage("steps from other states, and mutants")

    return show


def _not_shown(verification: Verification, coverage: Measurement, setup: Setup, asked_steps: int | None) -> list[str]:
    """Returns the reasons why parity is not shown though nothing differs.

    Args:
      verification: the result so far.
      coverage: which mutants it would have seen.
      setup: of the programs.
      asked_steps: the number of steps, where the user may ask for more; None for those of a recording.

    Returns:
      the reasons. Where steps of a period are missing, the first one says how many it takes.
    """
    reasons = [] if verification.partial else coverage.reasons()
    if reasons and asked_steps is not None:
        reasons = [*filter(None, [too_few_steps(setup.job.workload, asked_steps)]), *reasons]
    if not setup.job.workload.has_examples:
        reasons.append(NO_EXAMPLES)
    if setup.modern.taps and stages.ACTIVATIONS not in verification.stages and not verification.mismatched:
        reasons.append(NO_TAPS)
    return reasons


def _unproven(verification: Verification, setup: Setup) -> list[str]:
    """Returns the reason why rounding may hide a difference from an old graph: no float64, and other bits in float32.

    A recording holds one precision, so that nothing more can be asked of it; a note says so.
    """
    judged = not verification.single_only or verification.has_identical_bits
    if judged or not setup.has_old_graph or setup.record_filter is not None:
        return []
    return [
        f"rounding may hide a difference, since the mathematics was not judged in float64 ({verification.single_only})"
    ]


def _metrics_check(
    setup: Setup, examples: Batches, plan: ComparisonPlan
) -> contextlib.AbstractContextManager[MetricsCheck]:
    from parity.verdict.metrics_check import MetricsCheck  # most workloads have no metrics

    return contextlib.closing(MetricsCheck(setup, examples, plan.tolerance_name))


def _rule_check(setup: Setup, units: dict[str, float]) -> StepCheck:
    from parity.verdict.rule_check import RuleCheck  # identical bits need no rules, nor their modules

    # Another framework may raise Adam's constants to the step's number in float32, as Keras does.
    described = setup.job.workload.optimizer.keras_class() if setup.record_filter is not None else None
    recorded = 0.0 if described is None else described.update_units
    return RuleCheck(setup.job, (recorded, units.get(stages.WEIGHTS, 0.0)))


def _why_no_visits(setup: Setup, left: Program, plan: ComparisonPlan) -> str:
    """The reason why no visits are made, or ""."""
    if isinstance(left, (Recording, RecordingInTerms)):
        return "a recording cannot take a step from another state"
    if isinstance(left, LegacyProgram) and setup.legacy.input == "queue":
        return "the towers' queue cannot be started a second time"
    return "" if plan.with_visits else "--novisits"
