"""`ObservedStep`: one compared step with its inputs, from which the job's and a mutant's tensors are computed."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from parity.comparison import stages
from parity.comparison.tour import Visit
from parity.coverage import formulas
from parity.coverage.formulas import UpdatedState
from workloads.job import Job
from workloads.numerics import staleness
from workloads.program import STATES, Arrays, State, StepRecord


@dataclasses.dataclass
class ObservedStep:
    """One step of the left side.

    Attributes:
      job: the job.
      before: the state before the step.
      record: the left side's record.
      dtype: dtype in which a difference is judged: the job's for identical bits, else "float64".
      visit: the visit that it is, or None for a step of the run.
    """

    job: Job
    before: State
    record: StepRecord
    dtype: str
    visit: Visit | None = None

    @property
    def place(self) -> str:
        """The step in reports: "step 3", or the visit's name."""
        return f"step {self.record.step:,}" if self.visit is None else self.visit.name

    @functools.cached_property
    def unrecorded(self) -> frozenset[str]:
        """Stages that the record does not hold though the job has them, as another framework's recording may."""
        record, optimizer = self.record, self.job.workload.optimizer
        held = {
            stages.GRADIENTS: bool(record.gradients),
            stages.COMBINED: bool(record.combined),
            stages.RATE: record.learning_rate is not None,
            stages.SLOTS: not optimizer.slots() or any("/" in name for name in self.before.slots),
        }
        return frozenset(stage for stage, is_held in held.items() if not is_held)

    @functools.cached_property
    def updates(self) -> list[Arrays]:
        """The {weight: gradient} of each update of the step, in order: one, or with staleness one a replica."""
        if self.job.staleness is None:
            return [self.record.combined]
        updates = staleness.updates_by_number(self.record.combined)
        missing = staleness.updates_without_gradient(self.job.staleness, self.job.replicas, self.record.step)
        return [updates[number] for number in sorted(updates)][missing:]

    @functools.cached_property
    def gradient_groups(self) -> list[list[Arrays]]:
        """The replicas' gradients that are combined together: all, or with staleness each replica's alone."""
        gradients = self.record.gradients
        return [gradients] if self.job.staleness is None else [[own] for own in gradients]

    @functools.cached_property
    def combined(self) -> list[Arrays]:
        """Each group's gradients, combined and clipped by the job's rule from the recorded ones."""
        rule, clip = self.job.workload.combine, self.job.workload.clip
        return [formulas.combined_gradients(group, rule, clip, self.dtype) for group in self.gradient_groups]

    @functools.cached_property
    def updated(self) -> UpdatedState:
        """Weights and slots after the job's update by the recorded gradients and learning rate."""
        rate = float(np.ravel(self.record.learning_rate)[0])
        return formulas.updated_state(self.job.workload.optimizer, self.before, self.updates, rate, self.dtype)

    @functools.cached_property
    def averages(self) -> Arrays:
        """The weights' moving averages by the job's rule; none without one."""
        rule = self.job.workload.moving_average
        return {} if rule is None else formulas.moved_averages(rule, self.before, self.record.state, self.dtype)

    @functools.cached_property
    def ends_finite(self) -> bool:
        """Whether the state after the step is free of NaN and infinity, as where a step is skipped on an overflow."""
        state = self.record.state
        arrays = [value for kind in STATES for value in getattr(state, kind).values()]
        return all(bool(np.isfinite(array).all()) for array in arrays if np.asarray(array).dtype.kind == "f")

    @functools.cached_property
    def is_finite(self) -> bool:
        """Whether the step shows anything, see `StepRecord.is_finite`."""
        return self.record.is_finite()
