"""Whether two programs take the same steps, and where they first differ.

Identical bits are compared along two free trajectories. Where rounding may differ, trajectories part sooner or
later whatever the port does, since training amplifies rounding; so "auto" judges each step by itself: a second
copy of the port, the witness, takes every step from legacy's own state. If those agree the port is the same
program, and a trajectory that parts is reported, not blamed.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Dict, List, Optional

import numpy as np

from parity.comparison import stages, tolerance
from parity.comparison.difference import Difference, compare
from parity.comparison.fits import fit_factor
from parity.comparison.reference_magnitude import Scales
from workloads.support.errors import InputError


@dataclasses.dataclass
class StageSummary:
    """One stage over all steps: the worst of each measure, and the tensor nearest to (or beyond) its allowance.

    Attributes:
      tensors, elements: compared in all; `differing_elements` have other bits.
      worst: `Difference` with the largest share of its allowance, of step `worst_step`, allowed `worst_allowed`.
      first_difference: step at which bits first differ, or None.
      failed: step at which a tensor first went beyond its allowance, or None.
      nonfinite: NaNs and infinities that both sides have in the same places.
    """

    tensors: int = 0
    elements: int = 0
    differing_elements: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int = 0
    nonfinite: int = 0
    worst: Optional[Difference] = None
    worst_step: int = 0
    worst_allowed: float = 0.0
    worst_share: float = -1.0
    first_difference: Optional[int] = None
    failed: Optional[int] = None

    def add(self, step, difference, allowed):
        """Takes in one tensor; returns whether it is within `allowed`."""
        self.tensors += 1
        self.elements += difference.size
        self.nonfinite += difference.nonfinite
        if difference.identical:
            return True
        self.differing_elements += difference.differing
        self.max_abs = max(self.max_abs, difference.max_abs)
        self.max_rel = max(self.max_rel, difference.max_rel)
        self.max_ulp = max(self.max_ulp, difference.max_ulp)
        if self.first_difference is None:
            self.first_difference = step
        within = difference.max_rel <= allowed and not difference.nonfinite_mismatch and allowed > 0.0
        share = difference.max_rel / allowed if within else np.inf
        if share > self.worst_share:
            self.worst, self.worst_step, self.worst_allowed, self.worst_share = difference, step, allowed, share
        if not within and self.failed is None:
            self.failed = step
        return within

    def to_json(self):
        """For the report."""
        fields = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("worst", "worst_share")
        }
        fields["worst"] = None if self.worst is None else dataclasses.asdict(self.worst)
        return fields


@dataclasses.dataclass
class Verification:
    """What a comparison found.

    Attributes:
      passed: parity, under `tolerance_name`.
      stages: {stage: `StageSummary`} in causal order, of the comparison that is judged.
      trajectory: the same along the free trajectories, where the witness is judged instead; else empty.
      parted: step at which the trajectories parted by more than rounding alone explains, or None.
      kinks: steps whose gradients differ as one activation on the other side of a kink explains; see `tolerance`.
      first: {"step", "stage", "difference", "allowed"} of the first tensor beyond its allowance, or None.
      mismatched: lines about variables that do not match; if any, no number was compared.
      races: variables, with the step, that another order of reads and updates explains.
      drift: mirrored variables whose copies disagreed, with the step.
      floor: {stage: {...}}, see `floor`; empty if it was not measured.
    """

    tolerance_name: str
    mode: str
    steps: int = 0
    passed: bool = True
    stages: Dict[str, StageSummary] = dataclasses.field(default_factory=dict)
    trajectory: Dict[str, StageSummary] = dataclasses.field(default_factory=dict)
    parted: Optional[int] = None
    kinks: List[int] = dataclasses.field(default_factory=list)
    first: Optional[Dict[str, Any]] = None
    mismatched: List[str] = dataclasses.field(default_factory=list)
    drift: List[str] = dataclasses.field(default_factory=list)
    races: List[str] = dataclasses.field(default_factory=list)
    floor: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self):
        """For the report."""
        first = self.first and {**self.first, "difference": dataclasses.asdict(self.first["difference"])}
        return {
            "verdict": "parity" if self.passed else "no parity",
            "tolerance": self.tolerance_name,
            "mode": self.mode,
            "steps": self.steps,
            "first_failure": first,
            "mismatched_variables": self.mismatched,
            "replica_drift": self.drift,
            "stages": {name: stage.to_json() for name, stage in self.stages.items()},
            "trajectory": {name: stage.to_json() for name, stage in self.trajectory.items()},
            "trajectories_part_at": self.parted,
            "kinks": self.kinks,
            "races": self.races,
            "floor": self.floor,
        }


def verify(
    left,
    right,
    job,
    steps,
    mode="free",
    tolerance_name="exact",
    witness=None,
    floor=None,
    progress=None,
    units=None,
    alternatives=(),
):
    """Steps two programs side by side and compares all they show.

    Args:
      left, right: `Program`s of `job`; usually legacy (or a recording of it) and modern.
      mode: "free" lets both run their own trajectory; "locked" starts each of the right one's steps from the
        left one's state, so that a difference in a step was made in that step.
      tolerance_name: "exact" or "auto"; see `tolerance`.
      witness: in free mode, a second program like the right one that is judged step by step; or None.
      floor: `floor.Floor`, or None.
      progress: called with (steps done, `Verification` so far) after each step.
      units: {stage: ulps} allowed under "auto" beyond the base, for a reason the caller has.
      alternatives: in locked mode, programs that take the right one's steps in other orders of reads and updates,
        where the old program has races: a variable that one of them explains is no difference.

    Returns:
      `Verification`. A step beyond tolerance does not end the run: later stages show how it spreads.
    """
    result = Verification(tolerance_name, mode, mismatched=mismatches(left.variables(), right.variables()))
    if result.mismatched:
        result.passed = False
        return result
    judge = _Judge(result, job, floor, units or {})
    state = left.state()
    judge.initial(state, right.state())
    followers = [follower for follower in (right if mode == "locked" else None, witness, floor) if follower is not None]
    followers += list(alternatives)
    for step in range(steps):
        for follower in followers:
            follower.load(state)
        record, mine = left.step(), right.step()
        others = [alternative.step() for alternative in alternatives]
        judge.step(record, mine, None if witness is None else witness.step(), others)
        state = record.state
        result.steps = step + 1
        if progress is not None:
            progress(step + 1, result)
    judge.finish()
    return result


class _Judge:
    """Compares records tensor by tensor into a `Verification`."""

    def __init__(self, result, job, floor, units):
        self._result = result
        self._rule = tolerance.RULES[result.tolerance_name]
        self._job = job
        self._floor = floor
        self._units = units
        self._scales = Scales()
        self._factors = collections.defaultdict(list)

    def initial(self, left, right):
        failures = self._compare(self._result.stages, 0, 0, stages.initial_tensors(left), stages.initial_tensors(right))
        self._blame(failures)

    def step(self, left, right, witness, others=()):
        """Takes in one step: legacy's record, the port's, the witness's if there is one, and the alternatives'."""
        result, step = self._result, left.step
        judged = right if witness is None else witness
        if result.tolerance_name != "exact":
            self._scales.step(left)
        if self._floor is not None:
            self._floor.step(left, judged, self._scales)
        one_step = witness is not None or result.mode == "locked"
        failures = self._compare(
            result.stages, step, 0 if one_step else step, stages.tensors(left), stages.tensors(judged), others
        )
        if failures and result.tolerance_name == "auto" and tolerance.is_kink(failures[0]["stage"], left, judged):
            result.kinks.append(step)
            if len(result.kinks) <= tolerance.kinks_allowed(result.steps + 1):
                failures = []
        self._blame(failures)
        if result.tolerance_name != "exact" and one_step:
            for stage, values in stages.FACTORED.items():
                found = fit_factor(values(left), values(judged))
                if np.isfinite(found.factor):
                    self._factors[stage].append((step, found.factor))
        if witness is not None:
            apart = self._compare(result.trajectory, step, step, stages.tensors(left), stages.tensors(right))
            if apart and result.parted is None:
                result.parted = step
        for name in right.drift:
            result.drift.append(f"{name} at step {step}")
            result.passed = False

    def finish(self):
        """Completes the result: judges what only all steps together show."""
        for stage, found in self._factors.items():
            self._judge_factor(stage, found)
        if self._floor is not None:
            self._result.floor = self._floor.to_json()

    def _judge_factor(self, stage, found):
        """A factor common to all of a stage's tensors, small in each, that the median step has."""
        middle = float(np.median([factor for _, factor in found]))
        truth = self._floor.factor(stage) if self._floor is not None else 0.0
        allowed = tolerance.factor(self._job.dtype, self._job.replicas, truth)
        if abs(middle - 1) > allowed and self._result.passed:
            difference = Difference(
                "factor of all tensors together",
                len(found),
                len(found),
                abs(middle - 1),
                abs(middle - 1),
                0,
                (),
                1.0,
                middle,
            )
            self._result.stages[stage].failed = found[0][0]
            self._blame([{"step": found[0][0], "stage": stage, "difference": difference, "allowed": allowed}])

    def _blame(self, failures):
        if failures:
            self._result.passed = False
            self._result.first = self._result.first or failures[0]

    def _compare(self, summaries, step, age, left, right, others=()):
        """Adds one record's tensors to `summaries`; returns those beyond their allowance, in causal order."""
        failures, others = [], [stages.state_tensors(record.state) for record in others]
        for (stage, name, a), (other, same, b) in zip(left, right):
            if (stage, name) != (other, same):
                raise InputError(f"records do not line up: {stage} {name!r} against {other} {same!r}")
            difference = compare(name, a, b, self._scales.of(stage, name))
            allowed = self._allowed(stage, name, a.dtype, age)
            if others and not difference.identical and difference.max_rel > allowed and (stage, name) in others[0]:
                candidates = [compare(name, a, other[stage, name], self._scales.of(stage, name)) for other in others]
                best = min(candidates, key=lambda candidate: candidate.max_rel)
                if best.max_rel <= allowed:
                    difference = best
                    self._result.races.append(f"{name} at step {step}")
            if not summaries.setdefault(stage, StageSummary()).add(step, difference, allowed):
                failures.append({"step": step, "stage": stage, "difference": difference, "allowed": allowed})
        return failures

    def _allowed(self, stage, name, dtype, age):
        """Relative difference allowed `age` steps after both sides had the same state."""
        if dtype.kind != "f":
            return 0.0
        allowed = self._rule(stage, dtype, self._job.replicas, age)
        if allowed:
            allowed = max(allowed, self._units.get(stage, 0.0) * np.finfo(dtype).eps)
        if allowed and self._floor is not None:
            allowed = max(allowed, tolerance.FLOOR_FACTOR * self._floor.allowance(stage, name))
        return allowed


def mismatches(left, right):
    """Lines about variables that the two sides do not share by name, shape, dtype and trainability."""
    first, second = ({spec.name: spec for spec in specs} for specs in (left, right))
    lines = [f"{name}: only on the left" for name in first if name not in second]
    lines += [f"{name}: only on the right" for name in second if name not in first]
    for name in first:
        if name in second:
            for what in ("shape", "dtype", "trainable"):
                a, b = getattr(first[name], what), getattr(second[name], what)
                if str(a) != str(b):
                    lines.append(f"{name}: {what} {a} against {b}")
    return lines
