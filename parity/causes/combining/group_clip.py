"""Cause in clipping: groups of weights that are clipped apart, each by its own norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics.cause import HIGH, Finding
from parity.causes.basics.wording import format_factor
from parity.comparison.fits import fit_factor, near, spread
from parity.diagnosis.candidates.combined_forms import CombinedForm, combine_gradients
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.program import Arrays, StepRecord

#: Factors of one group, and limits of all, agree within this part.
SAME = 1e-4


class _Scaled(NamedTuple):
    """One weight's combined gradient in one step: its factor, and its length before that."""

    factor: float
    length: float


def group_clip(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_KIND where groups of weights have a factor each, which cuts each group's norm to one limit."""
    left, right = evidence.combined_fits
    if left is None or left.first is None or right is None or right.first is not None or right.borrowed:
        return None
    plain = CombinedForm(left.first.reduce)
    steps = [_factors(step.right, plain, evidence.clean_residual) for step in evidence.steps if step.right.gradients]
    if len(steps) < 2 or not all(steps):
        return None
    known = [step for step in steps if step is not None]
    groups = _groups(known)
    if not 1 < len(groups) < len(known[0]):
        return None
    limit = _limit(groups, known)
    if limit is None:
        return None
    listed = "; ".join(", ".join(group[:3]) for group in groups[:4])
    return Finding(
        f"The port clips {len(groups)} groups of weights apart, each to {format_factor(limit)} by its own norm "
        f"({listed}); legacy's combined gradient is {left.first}.",
        HIGH,
        f"the weights of a group share a factor that makes its norm {format_factor(limit)}, or 1 where it is shorter, "
        f"in {counted(len(known), 'step')}",
        {"groups": tuple(map(tuple, groups)), "limit": limit},
    )


def _factors(record: StepRecord, plain: CombinedForm, clean: float) -> dict[str, _Scaled] | None:
    """{weight: its factor} of one step; None where some weight has no clean one."""
    names = [name for name in record.combined if all(name in gradients for gradients in record.gradients)]
    whole: Arrays = combine_gradients([{name: g[name] for name in names} for g in record.gradients], plain)
    found = {}
    for name in names:
        fit = fit_factor(np.ravel(whole[name]), np.ravel(record.combined[name]))
        if not np.any(whole[name]):
            continue
        if not fit.residual <= 4 * clean or not 0 < fit.factor <= 1 + SAME:
            return None
        found[name] = _Scaled(fit.factor, float(np.linalg.norm(whole[name])))
    return found or None


def _groups(steps: Sequence[Mapping[str, _Scaled]]) -> list[list[str]]:
    """Weights that have one factor in every step, in the order of the first step's."""
    groups: list[list[str]] = []
    for name in steps[0]:
        shown = [step for step in steps if name in step]
        for group in groups:
            if all(near(step[name].factor, step[group[0]].factor, SAME) for step in shown if group[0] in step):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _limit(groups: Sequence[Sequence[str]], steps: Sequence[Mapping[str, _Scaled]]) -> float | None:
    """The one norm to which every group that has a factor is cut, and which no other exceeds; None without one."""
    cut: list[float] = []
    whole: list[float] = []
    for step in steps:
        for group in groups:
            members = [step[name] for name in group if name in step]
            length = float(np.sqrt(sum(member.length**2 for member in members)))
            factor = members[0].factor if members else 1.0
            (cut if factor < 1 - SAME else whole).append(factor * length)
    if len(cut) < 2 or not spread(cut) <= SAME:
        return None
    limit = float(np.median(cut))
    return limit if all(length <= limit * (1 + SAME) for length in whole) else None
