"""`RuleCheck`: judges both sides' steps by the workload's rules, each stage from that side's own recorded inputs."""

from __future__ import annotations

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import Difference
from parity.comparison.result import Failure
from parity.diagnosis.candidates.combined_forms import stated_form
from parity.diagnosis.context.job_context import Context, context_of_job
from parity.diagnosis.stage_checks.deviation import Deviation, deviations_by_rule, group_errors
from parity.diagnosis.stage_checks.rule_errors import StageRules
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.tensor_error import TensorError
from workloads.job import Job
from workloads.program import State, StepRecord


class RuleCheck:
    """Checks combined gradients, weights, slots, statistics and moving averages of every step.

    The noise of a gradient passes into the weights, where it can hide a wrong update. A rule that is given the very
    gradient that the side itself recorded leaves a few roundings of its own operations, however noisy that gradient is.

    Args:
      job: the job of both sides, a lifted one or one with stale gradients has no such rules and is not checked.
      update_units: further roundings of a change that each side's formulas need, left and right; see
        `KerasClass.update_units`.
    """

    def __init__(self, job: Job, update_units: tuple[float, float] = (0.0, 0.0)) -> None:
        self._rules = _rules_of(context_of_job(job)) if job.staleness is None else StageRules()
        self._eps = float(np.finfo(job.dtype).eps)
        self._units = update_units
        self._errors: tuple[list[TensorError], list[TensorError]] = ([], [])

    def add(self, left: StepRecord, right: StepRecord, before: State) -> None:
        """Checks one step that both sides took from the same state.

        Args:
          left, right: the sides' records.
          before: the state.
        """
        for errors, record, units in zip(self._errors, (left, right), self._units):
            errors += self._rules.errors(SideStep(record, before), self._eps, units)

    def failures(self) -> list[Failure]:
        """Returns the tensors that the rule explains on one side only, by step and stage.

        A tensor that the rule explains on neither side follows another rule, and says nothing about their difference.
        """
        found, _ = deviations_by_rule(*map(group_errors, self._errors))
        failures = [_failure(deviation, self._eps) for deviation in found]
        return sorted(failures, key=lambda failure: (failure.step, stages.STAGES.index(failure.stage)))


def _rules_of(context: Context) -> StageRules:
    form = stated_form(context.combine, context.clip)
    return StageRules(form, context.optimizer, context.moving_average, context.statistics)


def _failure(deviation: Deviation, eps: float) -> Failure:
    size = deviation.roundings * eps
    difference = Difference(deviation.name, 1, 1, max_abs=size, max_rel=size)
    return Failure(deviation.steps[0], deviation.stage, difference, eps, fact=deviation.sentence)
