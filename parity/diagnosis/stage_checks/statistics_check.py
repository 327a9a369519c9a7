"""Checks moving statistics: the stated policy applied to the values that the replicas propose."""

from __future__ import annotations

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_factor, relative_norm
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, TOWERS_IN_TURN

#: Roundings of a mean of two proposals.
MOST = 4.0


def check_statistics(side: SideStep, policy: str, eps: float) -> list[TensorError]:
    """Checks one side's statistics after a step.

    Args:
      side: the step.
      policy: as in `Workload.statistics`.
      eps: machine epsilon of the weights.

    Returns:
      one error for each statistic that all replicas propose.
    """
    proposals, kept = side.record.proposals, side.record.state.statistics
    names = [name for name in sorted(kept) if proposals and all(name in proposal for proposal in proposals)]
    if policy == TOWERS_IN_TURN:  # a proposal is made from the value before the step, which only the first one changes
        return []
    errors = []
    for name in names:
        values = [np.asarray(proposal[name], np.float64) for proposal in proposals]
        with np.errstate(all="ignore"):
            one = {FIRST_TOWER: values[0], LAST_TOWER: values[-1]}
            expected = one[policy] if policy in one else sum(values, np.zeros(())) / len(values)
            unit = eps * sum((np.abs(value) for value in values), np.zeros(())) + np.finfo(np.float32).tiny
        actual, most = np.asarray(kept[name], np.float64), MOST + len(values)
        roundings = elements_error(actual, expected, unit)
        fact = "" if roundings <= most else _statistic_fact(side, name, actual, values)
        errors.append(TensorError(stages.STATISTICS, name, side.record.step, roundings, most, fact))
    return errors


def _statistic_fact(side: SideStep, name: str, actual: np.ndarray, proposals: list[np.ndarray]) -> str:
    if not np.all(np.isfinite(actual)):
        return "values that are not finite"
    old = np.asarray(side.before.statistics.get(name, np.zeros_like(actual)), np.float64)
    if np.array_equal(old, actual):
        return "does not change"
    for replica, proposal in enumerate(proposals):
        if relative_norm(actual - proposal, proposal) < 1e-5:
            return f"is what replica {replica} proposes"
    mean = sum(proposals, np.zeros(())) / len(proposals)
    if relative_norm(actual - mean, mean) < 1e-5:
        return "is the mean of what the replicas propose"
    fit = fit_factor(np.ravel(proposals[0] - old), np.ravel(actual - old))
    return f"moves {fit.factor:.6g} x as far as replica 0 proposes, residual {fit.residual:.1e}"
