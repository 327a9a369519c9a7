"""Causes in the number of examples that a mean is taken over: padded examples, short batches, empty replicas."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor
from parity.causes.inputs.short_batches import MeanOverAll, divide_by, with_short_batches
from parity.causes.inputs.step_factors import (
    StepFactors,
    clean_factors,
    differing_sometimes,
    differs,
    factor_table,
    inject_table,
    losses_contradict,
)
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


def empty_replica(evidence: Evidence) -> Finding | None:
    """Recognizes EMPTY_REPLICA: a loss is not a number where legacy's is finite, and the weights stay finite."""
    bad = [
        (step.right.step, replica)
        for step in evidence.steps
        for replica, loss in enumerate(step.right.losses)
        if np.isnan(loss) and replica < len(step.left.losses) and np.isfinite(step.left.losses[replica])
    ]
    if not bad:
        return None
    if not all(np.all(np.isfinite(weight)) for weight in evidence.steps[-1].right.state.weights.values()):
        return None
    step, replica = bad[0]
    return Finding(
        f"The loss of replica {replica} is not a number at step {step} and all weights stay finite: a mean over no "
        "examples, on a replica that got none.",
        HIGH,
        f"{len(bad)} such losses; legacy's are finite",
        factor_table(evidence),
    )


def nonzero_weights_mean(evidence: Evidence) -> Finding | None:
    """Recognizes NONZERO_WEIGHTS_MEAN: in most steps the factors are n / b with whole numbers n that vary."""
    rows = clean_factors(evidence)
    differing = [row for row in rows if differs(evidence, row)]
    if any(losses_contradict(evidence, row) for row in differing):
        return None
    counts = [_example_counts(evidence, row) for row in differing]
    known = [count for count in counts if count is not None]
    if not differing or len(known) < len(counts) or len({n for count in known for n in count}) < 2:
        return None
    if len(differing) * 2 <= len(rows):
        return None
    first = ", ".join(map(str, known[0]))
    return Finding(
        f"Each replica's gradient is n / {evidence.context.per_replica_batch} of legacy's with n examples that count, "
        f"and n varies ({first} in the first such step): legacy divides by the examples with a weight, the port by "
        "all.",
        HIGH,
        f"factors times the per-replica batch are whole numbers in {counted(len(differing), 'step')}",
        factor_table(evidence),
    )


def short_batch_fixed_gbs(evidence: Evidence) -> Finding | None:
    """Recognizes SHORT_BATCH_FIXED_GBS: in at most half of the steps the factors are n / b, in the others 1.

    One factor of a step's loss gives the same numbers, unless the recorded batches are short there.
    """
    rows = clean_factors(evidence)
    differing = differing_sometimes(evidence, rows)
    if not differing or empty_replica(evidence):  # an empty replica's share is missing too
        return None
    if any(losses_contradict(evidence, row) for row in differing):
        return None
    counts = [_example_counts(evidence, row) for row in differing]
    if len(differing) * 2 > len(rows) or counts[0] is None or None in counts:
        return None
    factor = format_factor(float(np.mean(differing[0].factors)))
    shown = _shows_short_batches(evidence, differing)
    return Finding(
        f"In {len(differing)} of {len(rows)} steps (first at step {differing[0].step}) every gradient is {factor} of "
        f"legacy's: a short batch of {counted(sum(counts[0]), 'example')} is divided by the full batch's "
        f"{evidence.context.global_batch}.",
        HIGH if shown else MEDIUM,
        "exact in the other steps; there the factor is a number of examples over the batch"
        + ("" if shown else ", and may as well be a factor of the loss: no recorded batch is short"),
        factor_table(evidence),
        ambiguous=not shown,
    )


def mean_of_uneven_means(evidence: Evidence) -> Finding | None:
    """Recognizes MEAN_OF_UNEVEN_MEANS: in some steps the replicas' factors differ and their reciprocals average 1."""
    rows = clean_factors(evidence)
    differing = differing_sometimes(evidence, rows)
    if not differing or not all(_are_uneven_shares(row.factors) for row in differing):
        return None
    if any(losses_contradict(evidence, row) for row in differing):
        return None
    factors = ", ".join(map(format_factor, differing[0].factors))
    return Finding(
        f"In {len(differing)} of {len(rows)} steps (first at step {differing[0].step}) the replicas' gradients are "
        f"{factors} x legacy's: each replica's mean counts alike though their numbers of examples differ.",
        HIGH,
        "the factors' reciprocals have the mean 1, as shares of one batch do; exact in the other steps",
        factor_table(evidence),
    )


def _shows_short_batches(evidence: Evidence, rows: list[StepFactors]) -> bool:
    """Whether the recorded batches of these steps have fewer examples than a full batch."""
    sizes = {batch.step: sum(batch.sizes[0]) for batch in evidence.batches}
    return all(sizes.get(row.step, evidence.context.global_batch) < evidence.context.global_batch for row in rows)


def _example_counts(evidence: Evidence, row: StepFactors) -> list[int] | None:
    """Returns the whole numbers n of examples with factor n / b, one a replica; None if a factor is no such part.

    A row that differs has fewer examples than all: a factor that is nearly 1 is noise, and no number of examples.
    """
    batch = evidence.context.per_replica_batch
    if batch <= 1 or not np.all(np.isfinite(row.factors)):
        return None
    counts = [round(factor * batch) for factor in row.factors]
    parts = all(0 < n <= batch and abs(f * batch - n) < 2e-3 for n, f in zip(counts, row.factors))
    return counts if parts and min(counts) < batch else None


def _are_uneven_shares(factors: list[float]) -> bool:
    """Whether factors are positive, differ, and have reciprocals whose mean is 1."""
    if not all(factor > 0 for factor in factors):
        return False  # a replica without a gradient, or with one that is not a number
    return near(float(np.mean([1 / factor for factor in factors])), 1, 1e-3) and bool(np.ptp(factors) >= 1e-3)


def _without_decay(workload: Workload) -> Workload:
    return dataclasses.replace(workload, clip=None, weight_decay=0.0)


CAUSES = (
    Cause(
        id="EMPTY_REPLICA",
        stage=stages.LOSS,
        title="a replica without examples",
        signature="A replica's loss is NaN, while all weights are finite",
        why="The last batch of an epoch is cut into slices, and a small one leaves some replicas without examples. The "
        "mean over no examples is NaN, though its gradient is zero.",
        fix="Use drop_remainder=True, or divide the sum by the global number of examples.",
        criterion=empty_replica,
        change=inject_table,
        faults=(Fault("mean_over_no_examples", divide_by("means"), with_short_batches("empty")),),
        pitfall="R10",
    ),
    Cause(
        id="NONZERO_WEIGHTS_MEAN",
        stage=stages.LOSS,
        title="a mean over all examples in place of one over those that count",
        signature="Every gradient has the factor n / b, and the number n of examples with a nonzero weight varies with "
        "the batch",
        why="tf.losses.* divide by the number of examples with nonzero weights, Keras's SUM_OVER_BATCH_SIZE by the "
        "number of all.",
        fix="Sum the loss, and divide by the count explicitly.",
        criterion=nonzero_weights_mean,
        change=inject_table,
        faults=(Fault("mean_over_padding_too", injection.in_replica_step(MeanOverAll), _without_decay),),
        pitfall="R07",
    ),
    Cause(
        id="SHORT_BATCH_FIXED_GBS",
        stage=stages.LOSS,
        title="a short batch divided by the full batch's size",
        signature="Gradients agree but for the last step of each epoch; there the factor is n / B with n examples",
        why="compute_average_loss(global_batch_size=B) with a constant B.",
        fix="Use drop_remainder=True for parity, or all-reduce the true number of examples and divide by it.",
        criterion=short_batch_fixed_gbs,
        change=inject_table,
        faults=(Fault("short_batch_over_the_full_size", divide_by("fixed"), with_short_batches("even")),),
        pitfall="R08",
    ),
    Cause(
        id="MEAN_OF_UNEVEN_MEANS",
        stage=stages.LOSS,
        title="a mean of uneven means",
        signature="Gradients agree but for the last step of each epoch; there the replicas' factors differ, and the "
        "mean of their reciprocals is 1",
        why="Every replica's mean counts alike, also that of a replica with few examples.",
        fix="Weight each replica by its number of examples.",
        criterion=mean_of_uneven_means,
        change=inject_table,
        faults=(Fault("uneven_means_counted_alike", divide_by("means"), with_short_batches("uneven")),),
        pitfall="R09",
    ),
)
