"""Mutants of the ops after the update and of the batches: moving averages, statistics, the order of each input."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from parity.comparison import stages
from parity.coverage import formulas
from parity.coverage.changed_constants import FACTOR, changed_constants
from parity.coverage.mutant import Choice, Effect, Effects, Mutant
from parity.coverage.observed_step import ObservedStep
from workloads.job import Job
from workloads.numerics.statistics import FIRST_TOWER, MEAN_OF_TOWERS
from workloads.program import Arrays
from workloads.records.writer import batch_digest
from workloads.workload import MovingAverage


def average_mutants(job: Job) -> Iterator[Mutant]:
    """Yields the mutants of the weights' moving averages."""
    rule = job.workload.moving_average
    if rule is None:
        return
    end = end_of_warm_up(rule)
    hint = f"hidden by the warm-up until step {end:,}" if end else "the averages are too near the weights"
    for field, change, changed in changed_constants(rule):
        effects = _changed_average(rule, changed)
        yield Mutant(Choice.MOVING_AVERAGE, f"moving_average.{field}", change, effects, lambda: hint)
    yield Mutant(
        Choice.MOVING_AVERAGE,
        "moving_average.place",
        "of the weights before the update",
        _average_before(rule),
        lambda: "no weight moves",
    )


def end_of_warm_up(rule: MovingAverage) -> int:
    """Returns the first step in which a moving average has its full decay; 0 without a warm-up.

    >>> end_of_warm_up(MovingAverage(0.9999)), end_of_warm_up(MovingAverage(0.5, warm_up=False))
    (89989, 0)
    """
    if not rule.warm_up or not 0 < rule.decay < 1:
        return 0
    updates = (10 * rule.decay - 1) / (1 - rule.decay)  # where (1 + n) / (10 + n) reaches the decay
    return max(0, int(np.ceil(updates - 1e-6)) - 1)


def _changed_average(rule: MovingAverage, changed: MovingAverage) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        updates = step.record.state.step
        if rule.share(updates) == changed.share(updates):  # the warm-up hides the change
            return
        wrong = formulas.moved_averages(changed, step.before, step.record.state, step.dtype)
        for name, value in step.averages.items():
            yield Effect(stages.AVERAGES, name, value, wrong[name])

    return effects


def _average_before(rule: MovingAverage) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        early = dataclasses.replace(step.record.state, weights=step.before.weights)
        wrong = formulas.moved_averages(rule, step.before, early, step.dtype)
        for name, value in step.averages.items():
            yield Effect(stages.AVERAGES, name, value, wrong[name])

    return effects


def statistic_mutants(
    job: Job, names: Sequence[str], why_constant: Callable[[str], str], same_batch: bool = False
) -> Iterator[Mutant]:
    """Makes the mutants of statistics: another replica's value, and another share of the batch in it.

    Args:
      job: the job.
      names: of the statistics.
      why_constant: returns the reason why a statistic keeps its value, or "".
      same_batch: whether the source gives all replicas the same batch in every step.

    Yields:
      the mutants.
    """
    if not names:
        return
    policy = job.workload.statistics
    other = MEAN_OF_TOWERS if policy == FIRST_TOWER else FIRST_TOWER

    def why_any() -> str:
        if job.replicas == 1:
            return "one replica's proposal is the mean of all"
        if same_batch:
            return "all replicas get the same batch, as the old program's towers do"
        return why_constant(names[0]) if all(map(why_constant, names)) else ""

    hint = "all replicas propose the same values in every compared step"
    effects = _other_policy(other, list(names))
    yield Mutant(Choice.STATISTICS, "statistics", f"{policy} -> {other}", effects, lambda: hint, why_any)
    for name in names:
        yield Mutant(
            Choice.STATISTICS,
            f"statistics of {name}",
            "share of the batch changed by a hundredth",
            _changed_share(name),
            lambda: "the statistic keeps its value in every compared step",
            functools.partial(why_constant, name),
        )


def _other_policy(other: str, names: list[str]) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        proposals = step.record.proposals
        for name in names:
            if proposals and name in proposals[0]:
                values = [np.asarray(proposal[name], step.dtype) for proposal in proposals]
                mean = np.mean(values, axis=0, dtype=values[0].dtype)
                kept = np.asarray(step.record.state.statistics[name], step.dtype)
                yield Effect(stages.STATISTICS, name, kept, values[0] if other == FIRST_TOWER else mean)

    return effects


def _changed_share(name: str) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        old, new = (np.asarray(state.statistics[name], step.dtype) for state in (step.before, step.record.state))
        yield Effect(stages.STATISTICS, name, new, np.asarray(old + (new - old) * FACTOR, new.dtype))

    return effects


def batch_mutants(
    job: Job, shards: Callable[[int], Sequence[Arrays]], copied: Collection[str] = (), shared: Collection[str] = ()
) -> Iterator[Mutant]:
    """Yields the mutants of the batches: replicas in another order, and each input's rows in another order.

    The rows of an input that has one are those of its next dimension, as where factors stand before the words; so are
    those of an input whose rows are copies. Replicas that get nothing but the same have no order.

    Args:
      job: the job.
      shards: function from a step to each replica's {input name: array}.
      copied, shared: see `Source`.

    Yields:
      the mutants.
    """
    if job.replicas > 1 and not is_same_batch(shards(0)[0], shared):
        hint = "all replicas get the same batch"
        effects = _other_replicas(shards)
        yield Mutant(Choice.INPUT, "input of the replicas", "in another order", effects, lambda: hint)
    for name, value in shards(0)[0].items():
        sizes = dict(enumerate(np.shape(value)))
        axis = next((axis for axis, size in sizes.items() if size > 1 and (axis or name not in copied)), None)
        if axis is not None:
            effects = _other_rows(name, shards, axis)
            yield Mutant(Choice.INPUT, f"input {name}", "rows in another order", effects, lambda: "all rows are equal")


def is_same_batch(batch: Arrays, shared: Collection[str]) -> bool:
    """Returns whether all replicas get the same batch: no array of it is a replica's own.

    >>> is_same_batch({"x": np.ones(2), "rate": np.ones(())}, ["x"]), is_same_batch({"x": np.ones(2)}, [])
    (True, False)
    """
    return not any(np.ndim(value) for name, value in batch.items() if name not in shared)


def _other_replicas(shards: Callable[[int], Sequence[Arrays]]) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        digests = [batch_digest(shard) for shard in shards(step.record.step)]
        for replica, (right, wrong) in enumerate(zip(digests, digests[1:] + digests[:1])):
            yield Effect(stages.BATCH, f"replica {replica}", np.array(right), np.array(wrong))

    return effects


def _other_rows(name: str, shards: Callable[[int], Sequence[Arrays]], axis: int) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        shard = shards(step.record.step)[0]
        turned = {**shard, name: np.flip(shard[name], axis)}
        yield Effect(stages.BATCH, "replica 0", np.array(batch_digest(shard)), np.array(batch_digest(turned)))

    return effects
