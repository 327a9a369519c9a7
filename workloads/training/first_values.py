"""First values of a job's variables, by which the variables of another framework's model are matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workloads import tracing
from workloads.lifted.workload import as_lifted
from workloads.records.variable_match import ModelVariables
from workloads.variable_spec import initial_values

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays


class FirstValues(NamedTuple):
    """Values before the first step, in the order in which the model makes its variables.

    Attributes:
      weights: {name: array} of the variables that are trained.
      statistics: {name: array} of the others.
    """

    weights: Arrays
    statistics: Arrays

    def variables(self) -> ModelVariables:
        """Returns both, to be matched with another model's variables."""
        return ModelVariables({**self.weights, **self.statistics}, frozenset(self.statistics))


def first_values(job: Job) -> FirstValues:
    """Returns the first values of a job's weights and statistics; of a lift, those of its checkpoint."""
    if job.workload.is_lifted:
        state = as_lifted(job.workload).initial_state()
        return FirstValues(state.weights, state.statistics)
    specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
    values = initial_values(specs, job.seed)
    return FirstValues(*[{s.name: values[s.name] for s in specs if s.trainable == kind} for kind in (True, False)])
