"""The mutants of a job's named choices: those that a workload's fields, layers and batches say."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from parity.coverage.mutant import Mutant
from parity.coverage.mutants import gradient_mutants, state_mutants, update_mutants
from parity.coverage.mutants.schedule_mutants import schedule_mutants
from parity.coverage.mutants.update_mutants import GradientLog
from parity.coverage.schedules import RateFunction
from workloads import tracing
from workloads.job import Job
from workloads.sources import Source
from workloads.variable_spec import VariableSpec


def native_mutants(
    job: Job,
    source: Source,
    specs: Sequence[VariableSpec],
    rate: RateFunction,
    boundaries: list[int],
    gradients: GradientLog,
) -> Iterator[Mutant]:
    """Makes the mutants of a job.

    Args:
      job: the job.
      source: of its batches.
      specs: its variables.
      rate: its learning rates.
      boundaries: the first steps after a jump of the learning rate.
      gradients: of the compared steps.

    Yields:
      the mutants, in the order of a step's stages.
    """
    trainable = [spec.name for spec in specs if spec.trainable]
    statistics = [spec.name for spec in specs if not spec.trainable]
    yield from input_mutants(job, source)
    yield from gradient_mutants.decay_mutants(tracing.trace_decay_rates(job.workload, job.per_replica_batch, job.dtype))
    yield from gradient_mutants.combine_mutants(job)
    yield from schedule_mutants(job, rate, boundaries)
    yield from update_mutants.optimizer_mutants(job)
    yield from update_mutants.left_out_mutants(trainable, _reason_of_unused(job, gradients))
    batch = source.shards(0)[0] if statistics else {}
    same_batch = bool(batch) and state_mutants.is_same_batch(batch, source.shared)
    yield from state_mutants.statistic_mutants(job, statistics, _reason_of_constant(job), same_batch)
    yield from state_mutants.average_mutants(job)


def input_mutants(job: Job, source: Source) -> Iterator[Mutant]:
    """Yields the mutants of a source's batches; none where the graph makes up its data itself."""
    if source.shards(0)[0]:
        yield from state_mutants.batch_mutants(job, source.shards, source.copied, source.shared)


def _reason_of_constant(job: Job) -> update_mutants.Reason:
    """The reason why a statistic keeps its value: the model does not change it."""

    @functools.cache
    def updated() -> frozenset[str]:
        return tracing.trace_updated(job.workload, job.per_replica_batch, job.dtype)

    return lambda name: "" if name in updated() else "the model does not change it"


def _reason_of_unused(job: Job, gradients: GradientLog) -> update_mutants.Reason:
    """The reason why a weight never moves: the loss does not depend on it, which is found out when first asked for."""

    @functools.cache
    def unused() -> tuple[str, ...]:
        return tracing.trace_unused(job.workload, job.per_replica_batch, job.dtype)

    return lambda name: "the loss does not depend on the weight" if name in unused() else gradients.why_still(name)
