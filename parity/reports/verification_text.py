"""Sentences about a comparison: its verdict, and notes on what its tables do not show."""

from __future__ import annotations

from collections.abc import Sequence

from parity.comparison.difference import Difference
from parity.comparison.judging import tolerance
from parity.comparison.result import Failure, Verdict, Verification
from parity.reports.formatting import format_number
from workloads.support.wording import counted, listed

#: Most reasons that a sentence names.
MOST_REASONS = 5


def describe_difference(difference: Difference, step: int) -> str:
    """Returns the place of a difference's worst element, and both values there.

    >>> describe_difference(Difference("w", index=(0, 1), left=2.0, right=2.5), 3)
    'w[0,1] at step 3: 2.0 | 2.5'
    """
    index = f"[{','.join(map(str, difference.index))}]" if difference.index else ""
    return f"{difference.name}{index} at step {step}: {difference.left} | {difference.right}"


def verification_verdict(verification: Verification) -> str:
    """Returns the verdict in one sentence."""
    if verification.mismatched:
        return "NO PARITY: variables do not match: " + "; ".join(verification.mismatched)
    if verification.passed:
        rule = "identical bits" if verification.tolerance_name == "exact" else "within the auto tolerance"
        visits = f" and {counted(len(verification.visits), 'visit')}" if verification.visits else ""
        agreement = f"{counted(verification.steps, 'step')}{visits}, every stage {rule}"
        if verification.verdict is Verdict.PARITY:
            return f"PARITY: {agreement}"
        doubts = [f"not exercised: {list_reasons(verification.not_shown)}"] if verification.not_shown else []
        return f"NOT SHOWN: {agreement}; but {'; '.join([*verification.unproven, *doubts])}"
    if verification.first is None:
        return "NO PARITY: the copies of a mirrored variable disagree: " + verification.drift[0]
    return "NO PARITY: " + failure_place(verification)


def failure_place(verification: Verification) -> str:
    """Returns the step, stage and values of the first tensor beyond its tolerance; "" if there is none."""
    if verification.first is None:
        return ""
    place = _failure_place(verification.first, verification.tolerance_name)
    return place + (f"; in the visit of {verification.failed_visit.name}" if verification.failed_visit else "")


def list_reasons(reasons: Sequence[str]) -> str:
    """Returns the first reasons in one sentence, and the number of the others.

    >>> list_reasons(["clip (never acts)", "optimizer.epsilon (too small)"])
    'clip (never acts); optimizer.epsilon (too small)'
    """
    return listed(reasons, MOST_REASONS, "; ")


def _failure_place(failure: Failure, tolerance_name: str) -> str:
    if failure.fact:
        rule = "by the workload's rule and the side's own record"
        return f"first at step {failure.step}, {rule}: {failure.fact}"
    reason = tolerance.reason(failure.stage) if tolerance_name == "auto" else "exact"
    if not failure.difference.max_abs and not failure.difference.nonfinite_mismatch:
        reason += f"; all values are equal, {counted(failure.difference.differing, 'zero')} of another sign"
    precision = f" (both sides in {failure.precision})" if failure.precision else ""
    return (
        f"first at step {failure.step}, stage {failure.stage}{precision}: "
        f"{describe_difference(failure.difference, failure.step)}; allowed {format_number(failure.allowed)} relative, "
        f"found {format_number(failure.difference.max_rel)} ({reason})"
    )


def verification_notes(verification: Verification) -> list[str]:
    """Returns sentences about results that the tables do not show."""
    notes = []
    if verification.first_layer is not None:
        notes.append(verification.first_layer.sentence())
    for name, stage in verification.stages.items():
        if stage.nonfinite:
            elements = counted(stage.nonfinite, "element is", "elements are")
            notes.append(f"{name}: {elements} NaN or infinite, in the same places on both sides")
    if verification.diverged_at is not None:
        notes.append(
            f"the free trajectories diverge by more than a step's rounding at step {verification.diverged_at}, since "
            "training amplifies rounding; above, each step is judged by itself"
        )
    if verification.kinks:
        notes.append(
            f"in steps {', '.join(map(str, verification.kinks))} a difference beyond the tolerance is no larger than "
            "the effect of rounding, as where an activation lies at a rectifier's kink"
        )
    if verification.noise:
        judged = "not judged" if verification.single_only else "judged in float64"
        notes.append(
            f"{counted(len(verification.noise), 'tensor is', 'tensors are')} rounding noise in float32 and {judged}: "
            + ", ".join(verification.noise[:3])
        )
    if verification.single_only:
        notes.append(f"the mathematics was not judged in float64: {verification.single_only}")
    if verification.races:
        notes.append(
            f"{counted(len(verification.races), 'value of a variable is', 'values of variables are')} those of another "
            "order of reads and updates, which the old "
            f"program's graph leaves open: {', '.join(verification.races[:3])}"
        )
    if verification.drift:
        notes.append("copies of mirrored variables disagree: " + ", ".join(verification.drift[:5]))
    return notes
