"""Causes that give the optimizer other steps' gradients, or none: steps that are dropped, gradients not cleared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import scaled_combined
from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis.candidates.combined_forms import combine_gradients
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import MirroredState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.options import ModernOptions
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.job import Job


def gradient_dropped(evidence: Evidence) -> Finding | None:
    """Recognizes GRADIENT_DROPPED: in some steps the optimizer gets zeros, though the replicas have gradients."""
    rows = [step for step in evidence.steps if step.left.combined and step.right.combined]
    lengths = {step.right.step: _length_of(step.right.gradients or step.left.gradients) for step in rows}
    steps = [row.right.step for row in rows if _is_zero(row.right.combined) and not _is_zero(row.left.combined)]
    if not steps or not all(lengths[step] for step in steps):
        return None
    least = min(lengths[step] for step in steps)
    most = max((length for step, length in lengths.items() if step not in steps), default=float("inf"))
    rule = ""
    if least > most:
        rule = f": those of replicas' gradients longer than {most:.3g}, the shortest of {least:.3g}"
    return Finding(
        f"In {len(steps)} of {len(rows)} steps (first at step {steps[0]}) the port's optimizer gets zeros{rule}.",
        HIGH,
        "every combined gradient is exactly zero in these steps, and no replica's gradients are",
        {"names": tuple(sorted(rows[0].right.combined))},
        steps=tuple(steps),
        confined=True,
    )


def _is_zero(gradients: dict[str, np.ndarray]) -> bool:
    return not any(np.any(value) for value in gradients.values())


def _length_of(replicas: list[dict[str, np.ndarray]]) -> float:
    """Length of all replicas' gradients together."""
    return float(np.sqrt(sum(np.sum(np.square(value, dtype=np.float64)) for g in replicas for value in g.values())))


def _inject_dropped(finding: Finding, setup: Setup) -> injection.Change:
    return scaled_combined(dict.fromkeys(finding.constants["names"], 0.0))


def gradients_not_cleared(evidence: Evidence) -> Finding | None:
    """Recognizes GRADIENTS_NOT_CLEARED: each step's gradients are its own plus all of the step before."""
    for gaps, words in (
        (list(_gaps_of_combined(evidence)), "combined"),
        (list(_gaps_of_replicas(evidence)), "replicas'"),
    ):
        if gaps and all(gap.residual <= 4 * evidence.clean_residual for gap in gaps):
            once = len({gap.step for gap in gaps}) == 1
            return Finding(
                f"The port's {words} gradients are added to those of the step before, which are never cleared.",
                MEDIUM if once else HIGH,
                f"what they have beyond the step's own is the whole of the step before, in "
                f"{counted(len({gap.step for gap in gaps}), 'step')}, residual {max(gap.residual for gap in gaps):.1e}"
                + ("; one step alone shows it" if once else ""),
            )
    return None


class _Gap(NamedTuple):
    """Part of what the gradients of a step have beyond its own that those of the step before do not explain."""

    step: int
    residual: float


def _gaps_of_combined(evidence: Evidence) -> Iterator[_Gap]:
    """Combined gradients beside the mean, or sum, of the replicas' own; none where a step shows no addend."""
    left = evidence.combined_fits[0]
    if left is None or left.first is None or left.first.where is not None:
        return
    for before, step in zip(evidence.steps, evidence.steps[1:]):
        record, earlier = step.right, before.right
        names = sorted(set(record.combined) & set(earlier.combined))
        if record.step != earlier.step + 1 or not names or not record.gradients:
            continue
        if not all(name in gradients for gradients in record.gradients for name in names):
            continue
        own = combine_gradients([{name: g[name] for name in names} for g in record.gradients], left.first)
        yield _gap(record.step, record.combined, own, earlier.combined, names)


def _gaps_of_replicas(evidence: Evidence) -> Iterator[_Gap]:
    """Each replica's gradients beside legacy's, in steps from the same state."""
    for before, step in zip(evidence.steps, evidence.steps[1:]):
        record, earlier = step.right, before.right
        counts = {len(step.left.gradients), len(record.gradients), len(earlier.gradients)}
        if not step.same_state or record.step != earlier.step + 1 or len(counts) > 1:
            continue
        for own, got, old in zip(step.left.gradients, record.gradients, earlier.gradients):
            names = sorted(set(own) & set(got) & set(old))
            if names:
                yield _gap(record.step, got, own, old, names)


def _gap(
    step: int, got: dict[str, np.ndarray], own: dict[str, np.ndarray], old: dict[str, np.ndarray], names: list[str]
) -> _Gap:
    vectors = [flatten_arrays(arrays, names) for arrays in (got, own, old)]
    if any(np.shape(vector) != np.shape(vectors[0]) for vector in vectors) or not np.any(vectors[2]):
        return _Gap(step, float("inf"))
    return _Gap(step, relative_norm(vectors[0] - vectors[1] - vectors[2], vectors[2]))


class _NotCleared(ReplicaStep):
    """Adds each step's combined gradients to those of the step before."""

    def __init__(
        self, job: Job, options: ModernOptions, variables: MirroredState, rules: UpdateRules, first: int = 0
    ) -> None:
        import tensorflow as tf

        super().__init__(job, options, variables, rules, first)
        self._kept: list[dict[str, tf.Variable]] = []
        for replica in range(job.replicas):
            weights = variables.local(replica).weights
            with tf.device(next(iter(weights.values())).device):
                self._kept.append({name: tf.Variable(tf.zeros_like(weight)) for name, weight in weights.items()})

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        import tensorflow as tf

        kept = self._kept[int(tf.get_static_value(context.replica_id_in_sync_group))]
        combined = super()._combine(context, gradients)
        return {name: kept[name].assign_add(value) for name, value in combined.items()}


class _LargeDropped(ReplicaStep):
    """Gives the optimizer zeros in every second step."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        import tensorflow as tf

        combined = super()._combine(context, gradients)
        local = self._variables.local(int(tf.get_static_value(context.replica_id_in_sync_group)))
        dropped = tf.equal(tf.math.floormod(local.step.read_value(), 2), 1)
        return {name: tf.where(dropped, tf.zeros_like(value), value) for name, value in combined.items()}


CAUSES = (
    Cause(
        id="GRADIENT_DROPPED",
        stage=stages.COMBINED,
        title="some steps' gradients are dropped",
        signature="The combined gradient is exactly zero in some steps, and the replicas' are not",
        why="Steps of large or invalid gradients are skipped (optax.apply_if_finite, a loss scale, a test of a norm), "
        "or gradients are accumulated over several steps.",
        fix="Apply every step's gradients, or give legacy the same condition.",
        criterion=gradient_dropped,
        change=_inject_dropped,
        by_step=False,
        faults=(
            Fault("every_second_gradient_dropped", injection.in_replica_step(_LargeDropped), injection.without_clip),
        ),
    ),
    Cause(
        id="GRADIENTS_NOT_CLEARED",
        stage=stages.GRADIENTS,
        title="gradients are added up over the steps",
        signature="A step's gradient is its own plus that of the step before, which has those of all earlier ones",
        why="PyTorch adds to .grad until optimizer.zero_grad() is called.",
        fix="Clear the gradients before each backward pass.",
        criterion=gradients_not_cleared,
        by_step=False,
        faults=(Fault("gradients_never_cleared", injection.in_replica_step(_NotCleared), injection.without_clip),),
    ),
)
