"""Judge of a comparison: compares the tensors of step records and decides which differences are failures."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

import numpy as np

from parity.comparison import stages, tolerance
from parity.comparison.difference import Difference, compare
from parity.comparison.fits import fit_factor
from parity.comparison.noise_floor import NoiseFloor
from parity.comparison.reference_magnitude import ReferenceMagnitudes
from parity.comparison.result import Failure, Verification
from parity.comparison.stage_summary import StageSummary
from parity.comparison.stages import StageTensor
from workloads.job import Job
from workloads.program import State, StepRecord
from workloads.support.errors import InputError


class Judge:
    """Compares records tensor by tensor and enters what it finds into a `Verification`.

    Args:
      result: the `Verification` to fill; its tolerance and mode apply.
      job: of both programs.
      noise_floor: widens the tolerances, or None.
      units: {stage: ulps} allowed beyond the base tolerances.
    """

    def __init__(self, result: Verification, job: Job, noise_floor: NoiseFloor | None, units: dict[str, float]) -> None:
        self._result = result
        self._tolerance = tolerance.TOLERANCES[result.tolerance_name]
        self._job = job
        self._noise_floor = noise_floor
        self._units = units
        self._magnitudes = ReferenceMagnitudes()
        self._factors: collections.defaultdict[str, list[tuple[int, float]]] = collections.defaultdict(list)

    def compare_initial(self, left: State, right: State) -> None:
        """Compares the states before the first step."""
        pairs = stages.initial_tensors(left), stages.initial_tensors(right)
        self._result.add_failures(self._compare(self._result.stages, 0, 0, *pairs))

    def compare_step(
        self,
        left: StepRecord,
        right: StepRecord,
        lockstep: StepRecord | None = None,
        others: Sequence[StepRecord] = (),
    ) -> None:
        """Compares one step.

        Args:
          left: legacy's record.
          right: the port's record.
          lockstep: the record of the port's lockstep replica, which is judged in place of `right`; or None.
          others: records of the alternative orders of reads and updates.
        """
        result, step = self._result, left.step
        judged = right if lockstep is None else lockstep
        same_state = lockstep is not None or result.mode == "locked"
        if result.tolerance_name != "exact":
            self._magnitudes.add(left)
        if self._noise_floor is not None:
            self._noise_floor.step(left, judged, self._magnitudes)
        both = stages.tensors(left), stages.tensors(judged)
        failures = self._compare(result.stages, step, 0 if same_state else step, *both, others=others)
        result.add_failures(self._without_kink(failures, left, judged))
        if result.tolerance_name != "exact" and same_state:
            self._fit_factors(left, judged)
        if lockstep is not None:
            self._compare_trajectory(left, right)
        for name in right.drift:
            result.drift.append(f"{name} at step {step}")
            result.passed = False

    def finish(self) -> None:
        """Completes the result: judges what only all steps together show."""
        for stage, factors in self._factors.items():
            self._judge_factor(stage, factors)
        if self._noise_floor is not None:
            self._result.floor = self._noise_floor.to_json()

    def _without_kink(self, failures: list[Failure], left: StepRecord, judged: StepRecord) -> list[Failure]:
        """The failures of a step, or none if a kink explains them and not too many steps have one."""
        result = self._result
        if not failures or result.tolerance_name != "auto" or not tolerance.is_kink(failures[0].stage, left, judged):
            return failures
        result.kinks.append(left.step)
        return [] if len(result.kinks) <= tolerance.kinks_allowed(result.steps + 1) else failures

    def _fit_factors(self, left: StepRecord, judged: StepRecord) -> None:
        for stage, values in stages.FACTORED.items():
            fit = fit_factor(values(left), values(judged))
            if np.isfinite(fit.factor):
                self._factors[stage].append((left.step, fit.factor))

    def _judge_factor(self, stage: str, factors: list[tuple[int, float]]) -> None:
        """Fails a factor common to all of a stage's tensors that the median step has, small as it is in each tensor."""
        middle = float(np.median([factor for _, factor in factors]))
        truth = self._noise_floor.factor(stage) if self._noise_floor is not None else 0.0
        allowed = tolerance.factor(self._job.dtype, self._job.replicas, truth)
        gap = abs(middle - 1)
        if gap > allowed and self._result.passed:
            name, steps = "factor of all tensors together", len(factors)
            difference = Difference(name, steps, steps, max_abs=gap, max_rel=gap, left=1.0, right=middle)
            first_step = factors[0][0]
            self._result.stages[stage].failed = first_step
            self._result.add_failures([Failure(first_step, stage, difference, allowed)])

    def _compare_trajectory(self, left: StepRecord, right: StepRecord) -> None:
        """Compares the free trajectories, which are reported and not judged."""
        result, step = self._result, left.step
        apart = self._compare(result.trajectory, step, step, stages.tensors(left), stages.tensors(right))
        if apart and result.parted is None:
            result.parted = step

    def _compare(
        self,
        summaries: dict[str, StageSummary],
        step: int,
        age: int,
        left: Iterable[StageTensor],
        right: Iterable[StageTensor],
        others: Sequence[StepRecord] = (),
    ) -> list[Failure]:
        """Adds one record's tensors to `summaries`; returns those beyond their tolerance, in causal order."""
        failures, other_states = [], [stages.state_tensors(record.state) for record in others]
        for (stage, name, a), (other_stage, other_name, b) in zip(left, right):
            if (stage, name) != (other_stage, other_name):
                raise InputError(f"records do not line up: {stage} {name!r} against {other_stage} {other_name!r}")
            difference = compare(name, a, b, self._magnitudes.magnitude(stage, name))
            allowed = self._allowed(stage, name, a.dtype, age)
            if not difference.identical and difference.max_rel > allowed:
                alternatives = [state[stage, name] for state in other_states if (stage, name) in state]
                difference = self._nearest_order(step, stage, a, difference, alternatives, allowed)
            if not summaries.setdefault(stage, StageSummary()).add(step, difference, allowed):
                failures.append(Failure(step, stage, difference, allowed))
        return failures

    def _nearest_order(
        self, step: int, stage: str, left: np.ndarray, found: Difference, others: list[np.ndarray], allowed: float
    ) -> Difference:
        """The difference from the nearest alternative order that is within the tolerance, or the one that was found."""
        scale = self._magnitudes.magnitude(stage, found.name)
        best = min(
            (compare(found.name, left, other, scale) for other in others),
            key=lambda difference: difference.max_rel,
            default=found,
        )
        if best.max_rel > allowed:
            return found
        self._result.races.append(f"{found.name} at step {step}")
        return best

    def _allowed(self, stage: str, name: str, dtype: np.dtype, age: int) -> float:
        """Relative difference allowed to a tensor `age` steps after both sides had the same state."""
        if dtype.kind != "f":
            return 0.0
        allowed = self._tolerance(stage, dtype, self._job.replicas, age)
        if allowed:
            allowed = max(allowed, self._units.get(stage, 0.0) * float(np.finfo(dtype).eps))
        if allowed and self._noise_floor is not None:
            allowed = max(allowed, tolerance.FLOOR_FACTOR * self._noise_floor.allowance(stage, name))
        return allowed
