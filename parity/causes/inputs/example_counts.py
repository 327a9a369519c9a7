"""Causes in the number of examples that a mean is taken over: padded examples, short batches, empty replicas."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.loss_fit import ShownLosses, shown_losses
from parity.causes.basics.planted_gradients import gradients_scaled_by_step
from parity.causes.basics.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.scope import Scope
from workloads.workload import Workload

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.step_tensors import Tensors
    from modern.mirrored.training_step import PassResult
    from modern.mirrored.variables import LocalState
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.gradients import ReplicaGradient
    from workloads.workload import InputSpec


class _StepFactors(NamedTuple):
    """One step's factor of each replica's gradient, right over left."""

    step: int
    factors: list[float]


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
        _factor_table(evidence),
    )


def nonzero_weights_mean(evidence: Evidence) -> Finding | None:
    """Recognizes NONZERO_WEIGHTS_MEAN: in most steps the factors are n / b with whole numbers n that vary."""
    rows = _clean_factors(evidence)
    differing = [row for row in rows if _differs(evidence, row)]
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
        f"factors times the per-replica batch are whole numbers in {len(differing)} steps",
        _factor_table(evidence),
    )


def short_batch_fixed_gbs(evidence: Evidence) -> Finding | None:
    """Recognizes SHORT_BATCH_FIXED_GBS: in at most half of the steps the factors are n / b, in the others 1."""
    rows = _clean_factors(evidence)
    differing = _differing_sometimes(evidence, rows)
    if not differing or empty_replica(evidence):  # an empty replica's share is missing too
        return None
    counts = [_example_counts(evidence, row) for row in differing]
    if len(differing) * 2 > len(rows) or counts[0] is None or None in counts:
        return None
    factor = format_number(float(np.mean(differing[0].factors)))
    return Finding(
        f"In {len(differing)} of {len(rows)} steps (first at step {differing[0].step}) every gradient is {factor} of "
        f"legacy's: a short batch of {sum(counts[0])} examples is divided by the full batch's "
        f"{evidence.context.global_batch}.",
        HIGH,
        "exact in the other steps; there the factor is a number of examples over the batch",
        _factor_table(evidence),
    )


def mean_of_uneven_means(evidence: Evidence) -> Finding | None:
    """Recognizes MEAN_OF_UNEVEN_MEANS: in some steps the replicas' factors differ and their reciprocals average 1."""
    rows = _clean_factors(evidence)
    differing = _differing_sometimes(evidence, rows)
    if not differing or not all(_are_uneven_shares(row.factors) for row in differing):
        return None
    factors = ", ".join(map(format_number, differing[0].factors))
    return Finding(
        f"In {len(differing)} of {len(rows)} steps (first at step {differing[0].step}) the replicas' gradients are "
        f"{factors} x legacy's: each replica's mean counts alike though their numbers of examples differ.",
        HIGH,
        "the factors' reciprocals have the mean 1, as shares of one batch do; exact in the other steps",
        _factor_table(evidence),
    )


def _factor_table(evidence: Evidence) -> dict[str, Any]:
    """Returns, for every step from the same state that differs, the replicas' factors and multiples of the weights.

    A penalty is no part of the mean over the examples, so the factor of the data's gradient leaves over a multiple of
    the decayed weights.
    """
    rows: dict[int, list[ReplicaGradient]] = {}
    for entry in evidence.gradients:
        rows.setdefault(entry.step, []).append(entry)
    steps = {step.left.step: step for step in evidence.steps}
    table: dict[str, list[tuple[int, Any]]] = {"factors": [], "losses": [], "decays": []}
    for number, entries in rows.items():
        if all(entry.data == 1 and entry.loss == 1 for entry in entries):
            continue
        decay = {name: [entry.decay.get(name, 0.0) for entry in entries] for entry in entries for name in entry.decay}
        shown = shown_losses(steps[number], decay) if decay else [None] * len(entries)
        table["losses"].append((number, tuple(map(_loss_factor, entries, shown))))
        table["factors"].append((number, tuple(e.data if np.isfinite(e.data) else 1.0 for e in entries)))
        table["decays"].append((number, tuple((name, tuple(values)) for name, values in sorted(decay.items()))))
    return {name: tuple(values) for name, values in table.items()}


def _loss_factor(entry: ReplicaGradient, losses: ShownLosses | None) -> float:
    """Returns the factor of a replica's loss, a penalty apart; not-a-number for a loss that is none."""
    if not entry.loss_finite[1]:
        return float("nan")
    factor = entry.loss if losses is None else (losses.right - losses.penalty) / (losses.left or 1.0)
    return factor if np.isfinite(factor) else 1.0


def _plant_table(finding: Finding, setup: Setup) -> injection.Change:
    fitted = finding.constants
    decays = {number: dict(row) for number, row in fitted["decays"]}
    return gradients_scaled_by_step(dict(fitted["factors"]), dict(fitted["losses"]), decays)


def _clean_factors(evidence: Evidence) -> list[_StepFactors]:
    """Returns the factors of the steps from the same state; none if examples differ, or if a fit is not clean."""
    if any(not batch.same and batch.sizes[0] == batch.sizes[1] for batch in evidence.batches):
        return []
    clean = 4 * evidence.clean_residual
    if any(entry.residual > clean for entry in evidence.gradients if np.isfinite(entry.residual)):
        return []
    rows: dict[int, list[float]] = {}
    for entry in evidence.gradients:
        rows.setdefault(entry.step, []).append(entry.data)
    return [_StepFactors(step, factors) for step, factors in sorted(rows.items())]


def _differs(evidence: Evidence, row: _StepFactors) -> bool:
    """Returns whether a factor of the step is not 1."""
    return any(np.isfinite(factor) and abs(factor - 1) > 64 * evidence.eps for factor in row.factors)


def _differing_sometimes(evidence: Evidence, rows: list[_StepFactors]) -> list[_StepFactors]:
    """Returns the steps that differ if others do not, else none."""
    differing = [row for row in rows if _differs(evidence, row)]
    return differing if len(differing) < len(rows) else []


def _example_counts(evidence: Evidence, row: _StepFactors) -> list[int] | None:
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
    return near(float(np.mean([1 / factor for factor in factors])), 1, 1e-3) and np.ptp(factors) >= 1e-3


@dataclasses.dataclass(frozen=True)
class Short(Workload):
    """`inner` with a short batch in every fourth step, of which the first replica gets the fewest.

    Attributes:
      kind: the first replica's examples in a short batch: "even", "uneven" (fewer than the others') or "empty" (none).
      divide: the divisor of the sum over a short batch: "true" (the number of its examples on all replicas), "fixed"
        (the full batch), "means" (each replica divides by its own examples, and every replica's mean counts alike).
    """

    inner: Any = None
    kind: str = "even"
    divide: str = "true"
    replicas: int = 0

    def for_replicas(self, replicas: int) -> Short:
        return dataclasses.replace(self, replicas=replicas)

    def inputs(self) -> dict[str, InputSpec]:
        return self.inner.inputs()

    def examples(self, rng: np.random.RandomState, count: int) -> dict[str, np.ndarray]:
        return self.inner.examples(rng, count)

    def loss(self, scope: Scope, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        import tensorflow as tf

        whole = self.inner.loss(scope, batch)
        frame = copy.copy(scope._frame)
        frame.updates, frame.penalties, frame.masks = {}, [], {}
        size = int(next(iter(batch.values())).shape[0])
        counts = self._counts(size)
        mine = counts[frame.replica]
        if mine:
            short = self.inner.loss(Scope(frame), {name: value[:mine] for name, value in batch.items()})
        else:  # a mean over nothing is not a number, and has no gradient
            short = tf.zeros_like(whole) if self.divide == "true" else tf.constant(np.nan, whole.dtype)
        factor = {"true": mine * self.replicas / sum(counts), "fixed": mine / size, "means": 1.0}[self.divide]
        factor = factor if mine else 1.0
        last = tf.equal(tf.math.floormod(frame.step, tf.cast(4, frame.step.dtype)), 3)
        return tf.where(last, short * tf.cast(factor, whole.dtype), whole)

    def _counts(self, size: int) -> list[int]:
        """Returns the number of examples of each replica in a short batch."""
        if self.kind == "even":
            return [size // 2] * self.replicas
        return [0 if self.kind == "empty" else max(1, size // 4)] + [size] * (self.replicas - 1)


def _short(kind: str) -> Callable[[Workload], Workload]:
    """Returns an `adapt` that gives the workload short batches of this kind."""

    def adapt(workload: Workload) -> Workload:
        fields = {f.name: getattr(workload, f.name) for f in dataclasses.fields(Workload)}
        return Short(**{**fields, "clip": None}, inner=workload, kind=kind)

    return adapt


def _divide(how: str) -> injection.Change:
    """Changes the divisor of short batches; see `Short.divide`."""
    return injection.in_workload(lambda job: {"divide": how})


class _MeanOverAll(injection.ScaledStep):
    """Takes the mean over all examples where legacy's is over n that count (here those above one half): n / b of it."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        loss, gradients, updates, masks = super()._forward_backward(local, step, replica, batch)
        values = next(value for value in batch.values() if value.dtype.is_floating)
        first = tf.reshape(values, [int(values.shape[0]), -1])[:, 0]
        count = tf.maximum(tf.reduce_sum(tf.cast(first > 0.5, loss.dtype)), 1)
        share = count / tf.cast(int(values.shape[0]), loss.dtype)
        return loss * share, {name: value * share for name, value in gradients.items()}, updates, masks


def _without_decay(workload: Workload) -> Workload:
    return dataclasses.replace(workload, clip=None, weight_decay=0.0)


CAUSES = (
    Cause(
        id="EMPTY_REPLICA",
        stage=stages.LOSS,
        title="a replica without examples",
        signature="A replica's loss is not a number, while all weights are finite",
        why="The last batch of an epoch is cut into slices, and a small one leaves some replicas without examples. The "
        "mean over nothing is not a number, though its gradient is zero.",
        fix="Use drop_remainder=True, or divide the sum by the global number of examples.",
        criterion=empty_replica,
        plant=_plant_table,
        faults=(Fault("mean_over_no_examples", _divide("means"), _short("empty")),),
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
        plant=_plant_table,
        faults=(Fault("mean_over_padding_too", injection.in_replica_step(_MeanOverAll), _without_decay),),
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
        plant=_plant_table,
        faults=(Fault("short_batch_over_the_full_size", _divide("fixed"), _short("even")),),
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
        plant=_plant_table,
        faults=(Fault("uneven_means_counted_alike", _divide("means"), _short("uneven")),),
        pitfall="R09",
    ),
)
