"""Extents of deviations: the variables, and the steps, in which a stage does not give what it should from its inputs.

Gradients and proposals of statistics are compared with the left side's in steps from the same state. Combined
gradients, updates and averages are computed from the right side's own inputs by the left side's rule, which holds on
any trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from parity.comparison.floats import length
from parity.diagnosis.candidates.combined_forms import combine_gradients
from parity.diagnosis.candidates.statistics_owners import MOST_UNEXPLAINED, KeptStatistics, unexplained_part
from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.steps.compared_step import ComparedStep

Judge = Callable[[ComparedStep], dict[str, bool]]

_NONE: frozenset[str] = frozenset()

#: An array deviates if it is off by more than so many roundings of the largest numbers that it is made of.
ROUNDINGS = 32


class Extent(NamedTuple):
    """Extent of one stage's deviations: the variables in which it deviates, step by step.

    Attributes:
      compared: {step: variables of which it can be told}.
      wrong: {step: variables that deviate}, of the same steps.
    """

    compared: dict[int, frozenset[str]]
    wrong: dict[int, frozenset[str]]

    @property
    def steps(self) -> list[int]:
        """Steps in which any variable deviates."""
        return [step for step, names in self.wrong.items() if names]

    @property
    def names(self) -> list[str]:
        """Variables that deviate in any step."""
        return sorted(frozenset().union(*self.wrong.values()))

    @property
    def in_some_steps(self) -> bool:
        """Whether some of the compared steps deviate and others do not."""
        return 0 < len(self.steps) < len(self.compared)

    @property
    def in_some_variables(self) -> bool:
        """Whether some of the compared variables deviate and others never do."""
        return 0 < len(self.names) < len(frozenset().union(*self.compared.values()))


class StageExtents(NamedTuple):
    """Extents of all stages; that of a stage which shows too little has no steps."""

    gradients: Extent
    combined: Extent
    updates: Extent
    statistics: Extent
    averages: Extent


@measured_once
def find_extents(evidence: Evidence) -> StageExtents:
    """Returns the extents of all stages."""
    return StageExtents(
        _extent(evidence.steps, lambda step: _gradients(step, evidence)),
        _extent(evidence.steps, lambda step: _combined(step, evidence)),
        _update_extent(evidence),
        _statistics_extent(evidence),
        _extent(evidence.steps, lambda step: _averages(step, evidence)),
    )


def _extent(steps: Iterable[ComparedStep], judge: Judge) -> Extent:
    judged = {step.left.step: judge(step) for step in steps}
    known = {number: names for number, names in judged.items() if names}
    return Extent(
        {number: frozenset(names) for number, names in known.items()},
        {number: frozenset(name for name, wrong in names.items() if wrong) for number, names in known.items()},
    )


def _gradients(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{weight: whether any replica's gradient differs from the left's}; empty where they cannot be compared."""
    if not step.same_state or len(step.left.gradients) != len(step.right.gradients):
        return {}
    wrong: dict[str, bool] = {}
    for left, right in zip(step.left.gradients, step.right.gradients):
        noise = ROUNDINGS * evidence.eps * length(left.values())
        for name, value in left.items():
            if name in right and np.shape(value) == np.shape(right[name]):
                limit = noise + evidence.clean_residual * length([value])
                wrong[name] = wrong.get(name, False) or _differ(value, right[name], limit)
    return wrong


def _combined(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{weight: whether the right's combined gradient is not its own replicas', combined as the left does it}."""
    left = evidence.combined_fits[0]
    record = step.right
    if left is None or left.first is None or not record.gradients or not record.combined:
        return {}
    names = [
        name
        for name, value in record.combined.items()
        if all(name in gradient and np.shape(gradient[name]) == np.shape(value) for gradient in record.gradients)
    ]
    if not names or not all(np.all(np.isfinite(g[name])) for g in record.gradients for name in names):
        return {}
    expected = combine_gradients([{name: g[name] for name in names} for g in record.gradients], left.first)
    noise = ROUNDINGS * evidence.eps * length(expected.values())
    return {
        name: _differ(value, record.combined[name], noise + evidence.clean_residual * length([value]))
        for name, value in expected.items()
    }


def _update_extent(evidence: Evidence) -> Extent:
    """Weights whose change, or one of whose slots, is off by `parity.diagnosis.stage_checks`."""
    if evidence.both_updates is None:
        return Extent({}, {})
    names = frozenset(evidence.both_updates[1].steps[0].factors)
    compared = {step.step: names for step in evidence.both_updates[1].steps}
    wrong = dict.fromkeys(compared, frozenset[str]())
    for deviation in evidence.deviations.found:
        if deviation.stage in (stages.WEIGHTS, stages.SLOTS) and deviation.side == "right":
            for step in deviation.steps:
                if step in wrong:
                    wrong[step] |= names & {deviation.variable}
    return Extent(compared, wrong)


def _statistics_extent(evidence: Evidence) -> Extent:
    """Statistics that the right keeps from elsewhere, or that a replica proposes otherwise.

    What is kept can be told of every step, and proposals are compared in steps from the same state only: where they
    alone deviate, the other steps say nothing.
    """
    if evidence.statistics is not None and evidence.statistics.only_kept:
        return _extent(evidence.steps, lambda step: _other_statistics(step, evidence))
    kept = _extent(evidence.steps, lambda step: _kept_statistics(step, evidence))
    proposed = _extent(evidence.steps, lambda step: _proposed_statistics(step, evidence))
    if not kept.names or not proposed.names:
        return proposed if proposed.names else kept
    compared = {
        n: kept.compared.get(n, _NONE) | proposed.compared.get(n, _NONE) for n in {**kept.compared, **proposed.compared}
    }
    return Extent(compared, {n: kept.wrong.get(n, _NONE) | proposed.wrong.get(n, _NONE) for n in compared})


def _other_statistics(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{statistic: whether the right keeps another value than the left}, of a step from the same weights and values."""
    left, right = step.left_before.statistics, step.right_before.statistics
    kept, other = step.left.state.statistics, step.right.state.statistics
    names = [name for name in kept if name in other and name in left and name in right]
    if not step.same_state or not all(np.array_equal(left[name], right[name]) for name in names):
        return {}
    return {name: _proposes_other(kept[name], other[name], left[name], evidence) for name in names}


def _common_statistics(step: ComparedStep, evidence: Evidence) -> list[str]:
    """Statistics that the left proposes and the right keeps; none where the right shows no proposals of its own."""
    facts, left, right = evidence.statistics, step.left, step.right
    if facts is None or facts.borrowed or not left.proposals or len(left.proposals) != len(right.proposals):
        return []
    return [name for name in left.proposals[0] if name in right.state.statistics]


def _kept_statistics(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{statistic: whether the right keeps another one of its replicas' proposals than the left does of its own}."""
    facts = evidence.statistics
    owner = next(iter(facts.owners[0]), None) if facts is not None else None
    if owner is None:
        return {}
    row = KeptStatistics(step.right_before, step.right, step.right.proposals)
    return {
        name: not unexplained_part(row, owner, [name]) <= MOST_UNEXPLAINED
        for name in _common_statistics(step, evidence)
        if name in step.right_before.statistics
    }


def _proposed_statistics(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{statistic: whether a replica proposes another value than the left's, from the same weights and old value}."""
    left, right = step.left_before.statistics, step.right_before.statistics
    return {
        name: any(
            _proposes_other(a[name], b[name], left[name], evidence)
            for a, b in zip(step.left.proposals, step.right.proposals)
        )
        for name in _common_statistics(step, evidence)
        if step.same_state and np.array_equal(left[name], right[name])
    }


def _proposes_other(left: np.ndarray, right: np.ndarray, old: np.ndarray, evidence: Evidence) -> bool:
    moved = np.subtract(left, old, dtype=np.float64)
    limit = ROUNDINGS * evidence.eps * length([old]) + evidence.clean_residual * length([moved])
    return _differ(left, right, limit)


def _averages(step: ComparedStep, evidence: Evidence) -> dict[str, bool]:
    """{weight: whether its average on the right differs from the left's rule applied to the right's own weights}."""
    rule, record, before = evidence.context.moving_average, step.right, step.right_before
    if rule is None:
        return {}
    share = rule.share(record.step + 1)
    wrong = {}
    for name, value in record.state.averages.items():
        if name in before.averages and name in record.state.weights:
            old = np.asarray(before.averages[name], np.float64)
            weight = np.asarray(record.state.weights[name], np.float64)
            limit = ROUNDINGS * evidence.eps * np.maximum(np.abs(old), np.abs(weight))
            gap = np.abs(np.asarray(value, np.float64) - (old - (old - weight) * share))
            wrong[name] = not bool(np.all(gap <= limit))
    return wrong


def _differ(left: np.ndarray, right: np.ndarray, limit: float) -> bool:
    """Tells whether two arrays differ by more than `limit`; true for what is finite on one side only."""
    if np.array_equal(left, right, equal_nan=True):
        return False
    return not length([np.subtract(right, left, dtype=np.float64)]) <= limit
