"""Causes in what a mean is taken over: padded examples, short batches, empty replicas."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.scope import Scope
from workloads.workload import Workload


def _scaled(evidence):
    """[(step, [factor of each replica])] of the steps from the same state whose replicas are each one clean factor."""
    if any(not batch.same and batch.sizes[0] == batch.sizes[1] for batch in evidence.batches):
        return []  # other examples: no factor of their gradients counts anything
    rows = {}
    for entry in evidence.gradients:
        rows.setdefault(entry.step, []).append(entry)
    if any(e.residual > 4 * evidence.clean_residual for row in rows.values() for e in row if np.isfinite(e.residual)):
        return []
    return [(step, [e.data for e in row]) for step, row in sorted(rows.items())]


def _off(evidence, factors):
    return any(np.isfinite(f) and abs(f - 1) > 64 * evidence.eps for f in factors)


def _examples(evidence, factors):
    """Whole numbers of examples n with factor n / b, one a replica; None if a factor is no such part."""
    batch = evidence.context.per_replica_batch
    if not np.all(np.isfinite(factors)):
        return None
    counts = [round(factor * batch) for factor in factors]
    good = all(0 < n <= batch and abs(f * batch - n) < 2e-3 for n, f in zip(counts, factors))
    return counts if batch > 1 and good else None


def _sometimes(evidence):
    """(the steps that differ, all steps) if some do and some do not, else None."""
    rows = _scaled(evidence)
    off = [row for row in rows if _off(evidence, row[1])]
    return (off, rows) if off and len(off) < len(rows) else None


def nonzero_mean(evidence):
    rows = _scaled(evidence)
    off = [factors for _, factors in rows if _off(evidence, factors)]
    counts = [_examples(evidence, factors) for factors in off]
    if not off or any(count is None for count in counts) or len({n for count in counts for n in count}) < 2:
        return None
    if len(off) * 2 <= len(rows):
        return None
    return Finding(
        "Each replica's gradient is n / {} of legacy's with n examples that count, and n varies ({} in the first such "
        "step): legacy divides by the examples with a weight, the port by all.".format(
            evidence.context.per_replica_batch, ", ".join(map(str, counts[0]))
        ),
        HIGH,
        f"factors times the per-replica batch are whole numbers in {len(off)} steps",
    )


def fixed_size(evidence):
    found = _sometimes(evidence)
    if found is None or empty(evidence):  # an empty replica's share is missing too
        return None
    off, rows = found
    if len(off) * 2 > len(rows) or any(_examples(evidence, factors) is None for _, factors in off):
        return None
    step, factors = off[0]
    counts = _examples(evidence, factors)
    return Finding(
        f"In {len(off)} of {len(rows)} steps (first at step {step}) every gradient is {format_number(float(np.mean(factors)))} of legacy's: a short batch of {sum(counts)} examples is "
        f"divided by the full batch's {evidence.context.global_batch}.",
        HIGH,
        "exact in the other steps; there the factor is a number of examples over the batch",
    )


def mean_of_means(evidence):
    found = _sometimes(evidence)
    if found is None:
        return None
    off, rows = found
    if any(not near(float(np.mean([1 / f for f in factors])), 1, 1e-3) or np.ptp(factors) < 1e-3 for _, factors in off):
        return None
    step, factors = off[0]
    return Finding(
        "In {} of {} steps (first at step {}) the replicas' gradients are {} x legacy's: each replica's mean counts "
        "alike though their numbers of examples differ.".format(
            len(off), len(rows), step, ", ".join(map(format_number, factors))
        ),
        HIGH,
        "the factors' reciprocals have the mean 1, as shares of one batch do; exact in the other steps",
    )


def empty(evidence):
    bad = [
        (step.right.step, replica)
        for step in evidence.steps
        for replica, loss in enumerate(step.right.losses)
        if np.isnan(loss) and replica < len(step.left.losses) and np.isfinite(step.left.losses[replica])
    ]
    if not bad:
        return None
    finite = all(np.all(np.isfinite(w)) for w in evidence.steps[-1].right.state.weights.values())
    if not finite:
        return None
    return Finding(
        f"The loss of replica {bad[0][1]} is not a number at step {bad[0][0]} and all weights stay finite: a mean over no examples, on a "
        "replica that got none.",
        HIGH,
        f"{len(bad)} such losses; legacy's are finite",
    )


@dataclasses.dataclass(frozen=True)
class Short(Workload):
    """`inner` with a short batch in every fourth step, of which the first replica gets the fewest.

    Attributes:
      kind: "even", "uneven" or "empty": the first replica's examples there.
      divide: "true" (by the examples that there are, of all replicas), "fixed" (by the full batch), "means" (each
        replica's own mean counts alike).
    """

    inner: Any = None
    kind: str = "even"
    divide: str = "true"
    replicas: int = 0

    def inputs(self):
        return self.inner.inputs()

    def examples(self, rng, count):
        return self.inner.examples(rng, count)

    def loss(self, scope, batch):
        import tensorflow as tf

        whole = self.inner.loss(scope, batch)
        frame = copy.copy(scope._frame)
        frame.updates, frame.penalties, frame.masks = {}, [], {}
        size = int(next(iter(batch.values())).shape[0])
        counts = self._counts(size)
        mine = counts[frame.replica]
        if mine:
            short = self.inner.loss(Scope(frame), {name: value[:mine] for name, value in batch.items()})
        else:  # a mean of nothing: not a number, and without a gradient
            short = tf.zeros_like(whole) if self.divide == "true" else tf.constant(np.nan, whole.dtype)
        factor = {"true": mine * self.replicas / sum(counts), "fixed": mine / size, "means": 1.0}[self.divide]
        factor = factor if mine else 1.0
        last = tf.equal(tf.math.floormod(frame.step, tf.cast(4, frame.step.dtype)), 3)
        return tf.where(last, short * tf.cast(factor, whole.dtype), whole)

    def _counts(self, size):
        """Examples of each replica in a short step."""
        if self.kind == "even":
            return [size // 2] * self.replicas
        return [0 if self.kind == "empty" else max(1, size // 4)] + [size] * (self.replicas - 1)


def _short(kind):
    def adapt(workload):
        fields = {f.name: getattr(workload, f.name) for f in dataclasses.fields(Workload)}
        return Short(**{**fields, "clip": None}, inner=workload, kind=kind)

    return adapt


def _dividing(how):
    return injection.in_workload(lambda job: {"divide": how})


class _AllExamples(injection.ScaledStep):
    """The mean over all examples where legacy's is over those that count: n / b of it. Here, those above one half."""

    def _forward_backward(self, local, step, replica, batch):
        import tensorflow as tf

        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        values = next(value for value in batch.values() if value.dtype.is_floating)
        first = tf.reshape(values, [int(values.shape[0]), -1])[:, 0]
        count = tf.maximum(tf.reduce_sum(tf.cast(first > 0.5, loss.dtype)), 1)
        share = count / tf.cast(int(values.shape[0]), loss.dtype)
        return (loss * share, {name: value * share for name, value in gradients.items()}, *rest)


def _undecayed(workload):
    return dataclasses.replace(workload, clip=None, weight_decay=0.0)


CAUSES = (
    Cause(
        "EMPTY_REPLICA",
        stages.LOSS,
        "a replica without examples",
        "the loss is not a number, weights are finite",
        "The last batch of an epoch is cut into slices; a small one leaves some replicas none, and the mean of nothing "
        "is not a number, though its gradient is zero.",
        "drop_remainder=True, or divide the sum by the global number of examples.",
        empty,
        (Fault("mean_over_no_examples", _dividing("means"), _short("empty")),),
        "R10",
    ),
    Cause(
        "NONZERO_WEIGHTS_MEAN",
        stages.LOSS,
        "a mean over all examples for one over those that count",
        "the factor varies with the batch: examples with a weight over all",
        "tf.losses.* divide by the examples with nonzero weights, Keras's SUM_OVER_BATCH_SIZE by all.",
        "Sum, and divide by the count explicitly.",
        nonzero_mean,
        (Fault("mean_over_padding_too", injection.in_replica_step(_AllExamples), _undecayed),),
        "R07",
    ),
    Cause(
        "SHORT_BATCH_FIXED_GBS",
        stages.LOSS,
        "a short batch divided by the full batch's size",
        "exact but for the last step of each epoch; there the factor is n / B",
        "compute_average_loss(global_batch_size=B) with a constant B.",
        "drop_remainder=True for parity, or all-reduce the true count and divide by it.",
        fixed_size,
        (Fault("short_batch_over_the_full_size", _dividing("fixed"), _short("even")),),
        "R08",
    ),
    Cause(
        "MEAN_OF_UNEVEN_MEANS",
        stages.LOSS,
        "a mean of uneven means",
        "exact but for the last step of each epoch; there replicas' factors differ and their reciprocals average 1",
        "Each replica's mean counts alike, also the one with few examples.",
        "Weight each replica by its number of examples.",
        mean_of_means,
        (Fault("uneven_means_counted_alike", _dividing("means"), _short("uneven")),),
        "R09",
    ),
)
