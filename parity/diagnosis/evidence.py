"""`Evidence`: two programs' steps, and the one place where facts are measured from them, each once, when first read."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis import combined_gradients, gradient_factors
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.deviations import Deviations, find_deviations
from parity.diagnosis.facts import (
    batches,
    dropout_masks,
    initial_state,
    learning_rates,
    moving_averages,
    moving_statistics,
    replica_gradients,
)
from parity.diagnosis.steps.compared_step import ComparedStep
from parity.diagnosis.updates import Updates, fit_updates
from workloads.program import State, StepRecord

Fact = TypeVar("Fact")


@dataclasses.dataclass
class Evidence:
    """Two runs and every fact about them. Criteria and the summary read facts here and compute none themselves.

    Facts about one side hold on any trajectory; what compares the sides' losses, gradients or proposals is measured
    in steps from the same state only.

    Attributes:
      context: choices of the left side's job.
      left, right: states before the first step.
      steps: the steps, in order.
      retake_last_step: takes the right side's last step once more, from the same state, and returns its record; None
        if it cannot be taken again.
      retake_with_taps: takes the step that follows a state on both sides, with the values inside of the model
        recorded, and returns the records (left, right); None if that cannot be done.
      agreed_steps: number of the run's first steps, before those of the evidence, in which everything agreed; 0 if the
        evidence begins with the run.
      converted: ids of causes that are no bug, from whose terms the right side was rewritten in the left's.
      least_eps: precision of constants that one side holds in fewer bits than the other; 0 where there are none.
      facts: {name of the function: its result} of the functions that are `measured_once`.
    """

    context: Context
    left: State
    right: State
    steps: list[ComparedStep]
    retake_last_step: Callable[[], StepRecord] | None = None
    retake_with_taps: Callable[[State], tuple[StepRecord, StepRecord]] | None = None
    agreed_steps: int = 0
    converted: tuple[str, ...] = ()
    least_eps: float = 0.0
    facts: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def replicas(self) -> int:
        """Number of replicas, as the context says or the records show."""
        return self.context.replicas or max((len(step.left.gradients) for step in self.steps), default=0)

    @functools.cached_property
    def eps(self) -> float:
        """Machine epsilon of the weights' dtype, or of constants; float32's where no weight is a float."""
        dtypes = {np.asarray(value).dtype for value in self.left.weights.values()}
        eps = max([float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind == "f"] or [2.0**-23])
        return max(eps, self.least_eps)

    @property
    def clean_residual(self) -> float:
        """Largest residual of a fit that explains what it fits: rounding alone is left over."""
        return max(200 * self.eps, 1e-12)

    @functools.cached_property
    def initial(self) -> initial_state.InitialDifferences:
        """Differences between the states before the first step."""
        return initial_state.compare_initial_states(self.left, self.right)

    @functools.cached_property
    def batches(self) -> list[batches.ComparedBatch]:
        """The examples that each replica saw, one entry a step."""
        return batches.measure_batches(self.steps)

    @functools.cached_property
    def masks(self) -> dropout_masks.DropoutMasks | None:
        """The elements that dropout kept; None without masks."""
        return dropout_masks.measure_dropout_masks(self.steps)

    @functools.cached_property
    def gradients(self) -> list[replica_gradients.ReplicaGradient]:
        """Each replica's gradient fitted by the left's, in steps from the same state."""
        return replica_gradients.fit_replica_gradients(
            [step for step in self.steps if step.same_state], self.clean_residual
        )

    @functools.cached_property
    def combined_fits(self) -> tuple[combined_gradients.CombinedFit | None, combined_gradients.CombinedFit | None]:
        """(left, right) fit of the combined gradient by the replicas' own; None for a side that shows too little."""
        return combined_gradients.fit_combined_gradients(self)

    @functools.cached_property
    def gradient_factors(self) -> gradient_factors.GradientFactors | None:
        """Factor of the data's gradient and multiples of the weights, within replicas and in the reduction."""
        return gradient_factors.fit_gradient_factors(self)

    @functools.cached_property
    def learning_rates(self) -> learning_rates.LearningRates:
        """The learning rates of both sides, in steps that both took from their own state."""
        return learning_rates.measure_learning_rates([step for step in self.steps if not step.locked])

    @functools.cached_property
    def updates(self) -> tuple[Updates | None, Updates | None]:
        """(left, right) changes of weights and slots, explained by the optimizer's rule; None if they cannot be."""
        return fit_updates(self)

    @property
    def both_updates(self) -> tuple[Updates, Updates] | None:
        """(left, right) changes of weights and slots if both sides' can be explained, else None."""
        left, right = self.updates
        return (left, right) if left is not None and right is not None else None

    @functools.cached_property
    def statistics(self) -> moving_statistics.MovingStatistics | None:
        """Owners and proposals of the moving statistics; None without any."""
        return moving_statistics.measure_moving_statistics(self.steps)

    @functools.cached_property
    def averages(self) -> tuple[list[moving_averages.AverageMove], list[moving_averages.AverageMove]]:
        """(left, right) moves of the weights' moving averages, one a step."""
        return moving_averages.measure_moving_averages(self.steps)

    @functools.cached_property
    def deviations(self) -> Deviations:
        """All that rounding does not explain, stage by stage, each judged from that stage's own inputs."""
        return find_deviations(self)

    def deviations_with(self, context: Context) -> Deviations:
        """Returns the deviations that are left where the right has another context: other constants, say.

        What the left does is judged by its own context.
        """
        return find_deviations(self, context)

    @functools.cached_property
    def repeat_difference(self) -> float:
        """Relative difference of the right's combined gradient when its last step is taken a second time."""
        if self.retake_last_step is None:
            return 0.0
        first = flatten_arrays(self.steps[-1].right.combined)
        second = flatten_arrays(self.retake_last_step().combined)
        return relative_norm(second - first, first)


def measured_once(measure: Callable[[Evidence], Fact]) -> Callable[[Evidence], Fact]:
    """Makes a function of evidence keep its result in `Evidence.facts`, for facts of modules that import this one."""

    @functools.wraps(measure)
    def read(evidence: Evidence) -> Fact:
        name = measure.__name__
        if name not in evidence.facts:
            evidence.facts[name] = measure(evidence)
        fact: Fact = evidence.facts[name]
        return fact

    return read
