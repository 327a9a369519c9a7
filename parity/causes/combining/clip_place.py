"""Causes in the place of gradient clipping: in each replica before the reduction, or once after it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from parity.causes.basics import injection
from parity.causes.basics.cause import MEDIUM, Cause, Fault, Finding
from parity.causes.combining.form_difference import (
    FormDifference,
    change_clip,
    clip_of,
    form_difference,
    inject_form,
)
from parity.comparison import stages
from parity.comparison.fits import near

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.step.step_tensors import Tensors
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


def clip_before_reduce(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_BEFORE_REDUCE: legacy clips the combined gradient, the port each replica's."""
    found = form_difference(evidence)
    if found is None or found.legacy.where != "combined":
        return None
    if found.port.where == "combined" and _fits_clipped_shares(found, evidence.replicas):
        return Finding(
            f"The port lets {evidence.replicas} x legacy's limit through, the number of replicas: it clips each "
            "replica's share before they are reduced.",
            MEDIUM,
            found.because + "; the replicas' gradients are parallel, so a larger limit would look the same",
            {**found.constants, "where": "tower", "limit": found.legacy.limit * evidence.replicas},
            ambiguous=True,
        )
    if found.port.where != "tower":
        return None
    applied = str(found.port)
    if found.port.reduce == "mean" and near(found.port.limit, found.legacy.limit * evidence.replicas, 1e-3):
        applied = f"sum of clip(g_i / N, {found.legacy.limit:.6g}): up to {evidence.replicas} x the limit gets through"
    return Finding(
        "The port clips each replica's gradients before the reduction; legacy clips the reduced gradients. It applies "
        f"{applied}.",
        found.confidence,
        found.because,
        found.constants,
    )


def _fits_clipped_shares(found: FormDifference, replicas: int) -> bool:
    """Returns whether "the sum of clip(g_i / N) at legacy's limit" explains the port too.

    It is the mean of clip(g_i) at N times the limit. Where the replicas' gradients are parallel, other forms fit as
    well and may come first.
    """
    forms = [form for form in found.right.fits if form.where == "tower" and form.reduce == "mean"]
    return any(near(form.limit, found.legacy.limit * replicas, 1e-4) for form in forms)


def tower_clip(evidence: Evidence) -> Finding | None:
    """Recognizes TOWER_CLIP: legacy clips each tower's gradients, the port the combined one."""
    found = form_difference(evidence)
    if found is None or found.legacy.where != "tower" or found.port.where != "combined":
        return None
    return Finding(
        f"Legacy clips each tower's gradients to {found.legacy.limit:.6g} and then combines them; the port clips "
        "the combined gradients.",
        found.confidence,
        found.because,
        found.constants,
    )


class _SharesClipped(injection.ScaledStep):
    """Clips each replica's share g / N, then sums the shares, as Keras 3 does."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        replicas = self._job.replicas
        shares = {name: value / replicas for name, value in gradients.items()}
        workload = dataclasses.replace(
            self._job.workload, combine="sum", clip=dataclasses.replace(clip_of(self._job.workload), where="tower")
        )
        job, self._job = self._job, dataclasses.replace(self._job, workload=workload)
        try:
            return super()._combine(context, shares)
        finally:
            self._job = job


def _with_clip_in_distinct_directions(where: str) -> Callable[[Workload], Workload | None]:
    """Returns an `adapt` that leaves out workloads whose towers' gradients are parallel: there, places look alike."""
    adapt = injection.with_clip(where)
    return lambda workload: None if workload.parallel_gradients else adapt(workload)


CAUSES = (
    Cause(
        id="CLIP_BEFORE_REDUCE",
        stage=stages.COMBINED,
        title="the port clips before the reduction",
        signature="Steps in which clipping takes effect differ in direction; the sum of clip(g_i / N) fits exactly",
        why="Keras 3's optimizers clip in each replica, before the gradients are summed. A replica's share of the "
        "gradient has 1/N of its norm, so the limit may never take effect.",
        fix="Reduce first (replica_context.all_reduce), clip the reduced gradient, and apply it without another "
        "reduction.",
        criterion=clip_before_reduce,
        change=inject_form,
        faults=(
            Fault(
                "shares_clipped_then_summed",
                injection.in_replica_step(_SharesClipped),
                injection.with_clip("combined", bite=0.15),
            ),
            Fault(
                "clipped_on_each_replica",
                change_clip(where="tower"),
                _with_clip_in_distinct_directions("combined"),
            ),
        ),
        pitfall="R17",
    ),
    Cause(
        id="TOWER_CLIP",
        stage=stages.COMBINED,
        title="legacy clips in each tower",
        signature="Legacy's combined gradient is the mean of clip(g_i), the port's is clip(mean of g_i)",
        why="Tower code often clipped inside the loop over GPUs; the port clips once, where the framework does it.",
        fix="Clip each replica's gradient of its mean loss (N times its share) at the limit, then reduce with MEAN.",
        criterion=tower_clip,
        change=inject_form,
        faults=(
            Fault(
                "clipped_after_and_not_in_towers",
                change_clip(where="combined"),
                _with_clip_in_distinct_directions("tower"),
            ),
        ),
        pitfall="R18",
    ),
)
