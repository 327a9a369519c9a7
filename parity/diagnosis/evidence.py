"""`Evidence`: two programs' steps and every fact measured from them, each computed once, when first asked for."""

from __future__ import annotations

import dataclasses
import functools
from typing import Callable, List, Optional

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis import (
    batches,
    combined_gradients,
    dropout_masks,
    gradient_factors,
    gradients,
    initial_state,
    learning_rates,
    moving_averages,
    moving_statistics,
    updates,
)
from parity.diagnosis.job_context import Context
from workloads.program import State, StepRecord

#: Two states are the same where they are this near, in float32; in another dtype by its epsilon's ratio.
SAME_STATE = 1e-6


@dataclasses.dataclass
class ComparedStep:
    """One step of both sides, and the states they took it from; `locked` if the right's was loaded from the left."""

    left: StepRecord
    right: StepRecord
    left_before: State
    right_before: State
    locked: bool = False

    @functools.cached_property
    def same_state(self):
        """Whether both sides took the step from the same weights, so that losses and gradients can be compared."""
        left, right = self.left_before.weights, self.right_before.weights
        gaps = (relative_norm(np.subtract(right[n], left[n], dtype=np.float64), left[n]) for n in left if n in right)
        return all(gap <= SAME_STATE for gap in gaps)


@dataclasses.dataclass
class Evidence:
    """What is known about two runs.

    Attributes:
      context: `Context` of the left side's job.
      left, right: the `State`s before the first step.
      steps: `ComparedStep`s, in order.
      retake_last_step: function that takes the right side's last step once more and returns its record; None if it cannot.
    """

    context: Context
    left: State
    right: State
    steps: List[ComparedStep]
    retake_last_step: Optional[Callable] = None

    @property
    def replicas(self):
        """How many, as the context says or the records show."""
        return self.context.replicas or max((len(step.left.gradients) for step in self.steps), default=0)

    @functools.cached_property
    def eps(self):
        """Machine epsilon of the weights' dtype."""
        dtypes = {np.asarray(value).dtype for value in self.left.weights.values()}
        return max([float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind == "f"] or [2.0**-23])

    @property
    def clean_residual(self):
        """A fit with a residual below this explains what it fits: rounding alone is left over."""
        return max(200 * self.eps, 1e-12)

    @functools.cached_property
    def initial(self):
        """`initial.Initial`: the states before the first step."""
        return initial_state.compare_initial_states(self.left, self.right)

    @functools.cached_property
    def batches(self):
        """`batches.Batches`: which examples went where."""
        return batches.measure_batches(self.steps)

    @functools.cached_property
    def masks(self):
        """`masks.Masks`: what dropout kept."""
        return dropout_masks.measure_dropout_masks(self.steps)

    @functools.cached_property
    def gradients(self):
        """[`gradients.ReplicaGradient`] of all steps from the same state."""
        return gradients.fit_replica_gradients([step for step in self.steps if step.same_state], self.clean_residual)

    @functools.cached_property
    def combined_fits(self):
        """(left, right) `combining.Combining`: how each side made one gradient of its replicas'."""
        return combined_gradients.fit_combined_gradients(self)

    @functools.cached_property
    def gradient_factors(self):
        """`totals.Totals`: factors of the data's gradient and of the decay, replicas and reduction together."""
        return gradient_factors.fit_gradient_factors(self)

    @functools.cached_property
    def learning_rates(self):
        """`rates.Rates`: the learning rates of both sides."""
        return learning_rates.measure_learning_rates([step for step in self.steps if not step.locked])

    @functools.cached_property
    def updates(self):
        """(left, right) `updates.Updates`: how each side changed its weights and slots."""
        return updates.fit_updates(self)

    @functools.cached_property
    def statistics(self):
        """`statistics.Statistics`: whose batch-norm statistics each side kept, and how they moved."""
        return moving_statistics.measure_moving_statistics(self.steps)

    @functools.cached_property
    def averages(self):
        """(left, right) lists of `averages.Average`, one a step."""
        return moving_averages.measure_moving_averages(self.steps)

    @functools.cached_property
    def repeat_difference(self):
        """Relative difference of what the right side's optimizer got when its last step was taken a second time."""
        if self.retake_last_step is None:
            return 0.0
        first, second = flatten_arrays(self.steps[-1].right.combined), flatten_arrays(self.retake_last_step().combined)
        return relative_norm(second - first, first)
