"""Judge of a comparison: compares the tensors of step records and decides which differences are failures."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import Difference
from parity.comparison.fits import fit_factor
from parity.comparison.history import History
from parity.comparison.judging import tolerance
from parity.comparison.judging.noise_floor import NoiseFloor
from parity.comparison.judging.record_comparison import RecordComparison
from parity.comparison.judging.reference_magnitude import ReferenceMagnitudes
from parity.comparison.references import ReferenceRecords, References, Response
from parity.comparison.result import Failure, Verification
from parity.layers.first_layer import find_first_layer
from workloads.job import Job
from workloads.numerics import half_precision
from workloads.program import State, StepRecord
from workloads.support.wording import counted

#: The precision in which the mathematics is judged.
DOUBLE = "float64"

#: The reason why it was not judged in that precision, where no such programs were asked for.
NOT_MEASURED = "no programs in float64 were asked for"


class Judge:
    """Compares records tensor by tensor and enters the differences into a `Verification`.

    Args:
      result: the `Verification` to fill; its tolerance and mode apply.
      job: of both programs.
      references: the programs that accompany the comparison, or None; they must have loaded the state that each step
        starts from.
      units: {stage: float32 ulps} allowed beyond the base tolerances.
      noise_floor: that of an earlier comparison of such programs, where there are no references; or None.
      history: keeps the run's losses and the difference of each tensor; or None.
    """

    def __init__(
        self,
        result: Verification,
        job: Job,
        references: References | None,
        units: Mapping[str, float],
        noise_floor: NoiseFloor | None = None,
        history: History | None = None,
    ) -> None:
        self._result = result
        self._tolerance = tolerance.TOLERANCES[result.tolerance_name]
        self._job, self._references, self._units = job, references, units
        self._noise_floor = noise_floor if references is None else NoiseFloor(job.dtype)
        self._magnitudes, self._double_magnitudes = ReferenceMagnitudes(), ReferenceMagnitudes()
        self._history = history
        self._searched = False
        self._small: list[Failure] = []
        result.half_precision = "" if references is None else references.half_precision
        self._judged = RecordComparison(
            result.stages, self._allowed, self._magnitudes, races=result.races, history=history
        )
        self._double = RecordComparison(result.double, self._double_allowed, self._double_magnitudes, DOUBLE)
        self._trajectory = RecordComparison(result.trajectory, self._allowed, self._magnitudes)
        self._factors: collections.defaultdict[str, list[tuple[int, float]]] = collections.defaultdict(list)
        if result.tolerance_name == "auto" and job.dtype != DOUBLE:
            result.single_only = NOT_MEASURED if references is None else references.single_only

    @property
    def noise_floor(self) -> NoiseFloor | None:
        """The noise floor that was measured, or given; None without either."""
        return self._noise_floor

    def compare_initial(self, left: State, right: State) -> None:
        """Compares the states before the first step."""
        pairs = stages.initial_tensors(left), stages.initial_tensors(right)
        self._result.add_failures(self._judged.compare(0, 0, *pairs))

    def compare_step(
        self,
        left: StepRecord,
        right: StepRecord,
        lockstep: StepRecord | None = None,
        others: Iterable[StepRecord] = (),
        is_visit: bool = False,
    ) -> None:
        """Compares one step.

        Args:
          left: legacy's record.
          right: the port's record.
          lockstep: the record of the port's lockstep replica, which is judged in place of `right`; or None.
          others: records of the alternative orders of reads and updates; taken from one by one, while needed.
          is_visit: whether both took the step from one state outside of the run.
        """
        result, step = self._result, left.step
        judged = right if lockstep is None else lockstep
        same_state = lockstep is not None or result.mode == "locked" or is_visit
        if result.tolerance_name != "exact":
            self._magnitudes.add(left)
        references = self._step_references(left, judged)
        response = self._response_in(self._job.dtype) if same_state else None
        both = stages.both_tensors(left, judged)
        rounded = len(self._judged.rounded)
        self._judged.history = None if is_visit else self._history
        if self._history is not None and not is_visit:
            self._history.add_losses(left, right)
        half_response = self._half_response() if same_state else None
        failures = self._judged.compare(step, 0 if same_state else step, *both, response, others, half_response)
        failures += self._compare_in_double(step, references)
        result.add_failures(sorted(failures, key=lambda failure: stages.STAGES.index(failure.stage)))
        self._find_layer(left, judged, failures)
        if len(self._judged.rounded) > rounded:
            result.kinks.append(step)
        if result.tolerance_name != "exact" and same_state and not is_visit:
            self._fit_factors(left, judged)
        if lockstep is not None:
            self._compare_trajectory(left, right)
        for name in right.drift:
            result.drift.append(f"{name} at step {step}")
            result.passed = False

    def finish(self) -> None:
        """Completes the result with the judgements that need all steps together."""
        for stage, factors in self._factors.items():
            self._judge_factor(stage, factors)
        if self._small and not self._result.has_identical_bits:
            self._result.unproven.append(_rounded_constants(self._small))
        rounded = self._judged.half_rounded + self._double.half_rounded
        if rounded:
            self._result.unproven.append(_rounded_to_half(self._result.half_precision, rounded))
        if self._noise_floor is not None:
            self._result.floor = self._noise_floor.to_json()
            self._result.noise = [f"{name} ({stage})" for stage, name in self._noise_floor.noise()]

    def _find_layer(self, left: StepRecord, judged: StepRecord, failures: Sequence[Failure]) -> None:
        """Names the first layer that differs in the first step with a failure, up to which both sides agreed."""
        taps = stages.common_taps(left, judged)
        if taps and failures and not self._searched:
            self._searched = True
            differing = stages.differing_tensors((entry.stage, entry.difference.name) for entry in failures)
            self._result.first_layer = find_first_layer(differing, taps, left, judged)

    def _step_references(self, left: StepRecord, judged: StepRecord) -> ReferenceRecords | None:
        if self._references is None or self._noise_floor is None:
            return None
        records = self._references.step()
        self._magnitudes.add_repetition(records.again)
        self._noise_floor.add(left, judged, records, self._magnitudes)
        return records

    def _compare_in_double(self, step: int, references: ReferenceRecords | None) -> list[Failure]:
        """Compares both sides' programs in float64, which took the step from legacy's state."""
        if references is None or references.truth is None or references.port is None:
            return []
        self._double_magnitudes.add(references.truth)
        both = stages.both_tensors(references.truth, references.port)
        failures = self._double.compare(step, 0, *both, self._response_in(DOUBLE), (), self._half_response())
        own_constants = self._references is not None and self._references.own_constants
        if not own_constants or not all(map(_may_be_a_rounded_constant, failures)):
            return failures
        self._small += failures
        return []

    def _response_in(self, dtype: str) -> Callable[[], Response] | None:
        """Returns the function that measures the response to rounding of `dtype`; None once parity is lost."""
        references = self._references
        if references is None or not self._result.passed:
            return None
        return lambda: references.sensitivity(dtype)

    def _half_response(self) -> Callable[[], Response] | None:
        """Returns `_response_in` the half precision that the job computes in; None for a job without."""
        half = self._result.half_precision
        return self._response_in(half) if half else None

    def _fit_factors(self, left: StepRecord, judged: StepRecord) -> None:
        for stage, values in stages.FACTORED.items():
            fit = fit_factor(values(left), values(judged))
            if np.isfinite(fit.factor):
                self._factors[stage].append((left.step, fit.factor))

    def _judge_factor(self, stage: str, factors: list[tuple[int, float]]) -> None:
        """Fails a factor that all of a stage's tensors share in the median step, if each is within its tolerance."""
        middle = float(np.median([factor for _, factor in factors]))
        truth = self._noise_floor.factor(stage) if self._noise_floor is not None else 0.0
        allowed = tolerance.factor(self._job.dtype, self._job.replicas, truth)
        allowed = max(allowed, self._units.get(stage, 0.0) * float(np.finfo(np.float32).eps))
        gap = abs(middle - 1)
        half = self._result.half_precision
        if half and allowed < gap <= half_precision.epsilon(half):
            self._judged.half_rounded.append(f"factor of all {stage} together")
        elif gap > allowed and self._result.passed:
            name, steps = "factor of all tensors together", len(factors)
            difference = Difference(name, steps, steps, max_abs=gap, max_rel=gap, left=1.0, right=middle)
            first_step = factors[0][0]
            self._result.stages[stage].failed = first_step
            self._result.add_failures([Failure(first_step, stage, difference, allowed)])

    def _compare_trajectory(self, left: StepRecord, right: StepRecord) -> None:
        """Compares the free trajectories, which are reported and not judged."""
        result, step = self._result, left.step
        apart = self._trajectory.compare(step, step, *stages.both_tensors(left, right))
        if apart and result.diverged_at is None:
            result.diverged_at = step

    def _allowed(self, stage: str, name: str, dtype: np.dtype, age: int) -> float:
        """Relative difference allowed to a tensor `age` steps after both sides had the same state."""
        if dtype.kind != "f":
            return 0.0
        allowed = self._tolerance(stage, dtype, self._job.replicas, age)
        if allowed:
            # Formulas need more units for constants that one side holds in float32, whatever the run's dtype.
            allowed = max(allowed, self._units.get(stage, 0.0) * float(np.finfo(np.float32).eps))
        if allowed and self._noise_floor is not None:
            allowed = max(allowed, tolerance.FLOOR_FACTOR * self._noise_floor.allowance(stage, name))
        return allowed

    def _double_allowed(self, stage: str, name: str, dtype: np.dtype, age: int) -> float:
        """Relative difference allowed to a tensor of both float64 programs."""
        if dtype.kind != "f":
            return 0.0
        allowed = tolerance.double(stage, dtype, self._job.replicas, self._double_magnitudes.weights)
        return max(allowed, self._units.get(stage, 0.0) * float(np.finfo(np.float32).eps))


def _may_be_a_rounded_constant(failure: Failure) -> bool:
    """Whether a difference in float64 is no larger than a constant's that is rounded to float32 at another place."""
    limit = tolerance.CONSTANT_UNITS * float(np.finfo(np.float32).eps)
    return failure.allowed > 0 and not failure.difference.nonfinite_mismatch and failure.difference.max_rel <= limit


def _rounded_constants(failures: Sequence[Failure]) -> str:
    """Returns the reason why mathematics that differs as little as constants in float32 is not shown to be the same."""
    worst = max(failures, key=lambda failure: failure.difference.max_rel)
    return (
        f"in float64 they differ by up to {worst.difference.max_rel:.1e} ({worst.stage}, {worst.difference.name} at "
        f"step {worst.step}), as constants do that one side computes in float32 and the other in Python"
    )


def _rounded_to_half(name: str, rounded: Sequence[str]) -> str:
    """Returns the reason why differences as large as half precision rounds are not shown to be rounding."""
    return (
        f"the job computes in {name}, and {counted(len(rounded), 'difference is', 'differences are')} as large as its "
        f"rounding makes them (the first: {rounded[0]}): a smaller fault would look the same"
    )
