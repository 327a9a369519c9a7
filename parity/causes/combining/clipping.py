"""Causes in gradient clipping: in each tower or after combining, by another norm, at another limit, or on one side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import shortest_decimal
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.workload import Clip

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.candidates.combined_forms import CombinedForm
    from parity.diagnosis.combined_gradients import CombinedFit
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


class _Difference(NamedTuple):
    """Two sides that combine and clip in different, known forms.

    Attributes:
      legacy: the form that explains legacy's combined gradients.
      port: the form that explains the port's.
      left, right: all that is known about each side's combined gradients.
    """

    legacy: CombinedForm
    port: CombinedForm
    left: CombinedFit
    right: CombinedFit

    @property
    def confidence(self) -> str:
        """MEDIUM where the port's combined gradients were worked out from its updates, and not precisely."""
        return MEDIUM if self.right.derived and self.right.noise > 1e-3 else HIGH

    @property
    def constants(self) -> dict[str, Any]:
        """The port's form, for `_plant_form`."""
        return _form_constants(self.port)

    @property
    def because(self) -> str:
        """Both forms with their residuals."""
        return (
            f"legacy's combined gradient is {self.legacy} (residual {self.left.fits[self.legacy]:.1e}), the port's "
            f"{self.port} ({self.right.fits[self.port]:.1e}), over {self.right.steps} steps"
            + ("; the port's was worked out from its update" if self.right.derived else "")
        )


def _difference(evidence: Evidence) -> _Difference | None:
    """Returns both sides' forms if both are known and legacy's does not explain the port, else None."""
    left, right = evidence.combined_fits
    if left is None or right is None or left.first is None or right.first is None or left.first in right.fits:
        return None
    return _Difference(left.first, right.first, left, right)


def clip_before_reduce(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_BEFORE_REDUCE: legacy clips the combined gradient, the port each replica's."""
    found = _difference(evidence)
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
        "The port clips each replica's gradients before they are reduced; legacy clips what was reduced. It applies "
        f"{applied}.",
        found.confidence,
        found.because,
        found.constants,
    )


def _fits_clipped_shares(found: _Difference, replicas: int) -> bool:
    """Returns whether "the sum of clip(g_i / N) at legacy's limit" explains the port too.

    It is the mean of clip(g_i) at N times the limit. Where the replicas' gradients are parallel, other forms fit as
    well and may come first.
    """
    forms = [form for form in found.right.fits if form.where == "tower" and form.reduce == "mean"]
    return any(near(form.limit, found.legacy.limit * replicas, 1e-4) for form in forms)


def tower_clip(evidence: Evidence) -> Finding | None:
    """Recognizes TOWER_CLIP: legacy clips each tower's gradients, the port the combined one."""
    found = _difference(evidence)
    if found is None or found.legacy.where != "tower" or found.port.where != "combined":
        return None
    return Finding(
        f"Legacy clips each tower's gradients to {found.legacy.limit:.6g} and then combines them; the port clips what "
        "was combined.",
        found.confidence,
        found.because,
        found.constants,
    )


def clip_kind(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_KIND: both sides clip, by different norms."""
    found = _difference(evidence)
    if found is None or None in (found.legacy.where, found.port.where) or found.legacy.how == found.port.how:
        return None
    legacy, port = (form.how.replace("_", " ") for form in (found.legacy, found.port))
    sentence = f"Legacy clips by {legacy}, the port by {port}."
    return Finding(sentence, found.confidence, found.because, found.constants)


def clip_limit(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_LIMIT: both sides clip in the same place by the same norm, at different limits."""
    found = _difference(evidence)
    if found is None or found.legacy.where is None:
        return None
    if (found.legacy.where, found.legacy.how) != (found.port.where, found.port.how):
        return None
    if near(found.legacy.limit, found.port.limit, 1e-4) or clip_before_reduce(evidence):
        return None
    return Finding(
        f"Legacy clips at {found.legacy.limit:.6g}, the port at {found.port.limit:.6g}.",
        found.confidence,
        found.because,
        found.constants,
    )


def clip_missing(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_MISSING: one side clips and the other does not."""
    found = _difference(evidence)
    if found is None or (found.legacy.where is None) == (found.port.where is None):
        return None
    if found.port.where is None:
        sentence = f"Legacy clips its gradients to {found.legacy.limit:.6g} and the port does not."
    else:
        sentence = f"The port clips its gradients to {found.port.limit:.6g} and legacy does not."
    return Finding(sentence, found.confidence, found.because, found.constants)


def _form_constants(form: CombinedForm) -> dict[str, Any]:
    limit = shortest_decimal(form.limit) if form.where is not None else 0.0
    return {"reduce": form.reduce, "where": form.where or "", "how": form.how, "limit": limit}


def _plant_form(finding: Finding, setup: Setup) -> injection.Change:
    """Plants the port's way of combining and clipping."""
    fitted = finding.constants
    clip = Clip(fitted["limit"], fitted["where"], fitted["how"]) if fitted["where"] else None
    return injection.in_workload(lambda job: {"clip": clip, "combine": fitted["reduce"]})


class _SharesClipped(injection.ScaledStep):
    """Clips each replica's share g / N, then sums the shares, as Keras 3 does."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        replicas = self._job.replicas
        shares = {name: value / replicas for name, value in gradients.items()}
        workload = dataclasses.replace(
            self._job.workload, combine="sum", clip=dataclasses.replace(_clip_of(self._job.workload), where="tower")
        )
        job, self._job = self._job, dataclasses.replace(self._job, workload=workload)
        try:
            return super()._combine(context, shares)
        finally:
            self._job = job


def _clip_of(workload: Workload) -> Clip:
    """Returns the workload's clipping; the faults below are injected into workloads that clip."""
    if workload.clip is None:
        raise ValueError(f"{workload.name}: does not clip")
    return workload.clip


def _change_clip(**fields: Any) -> injection.Change:
    return injection.in_workload(lambda job: {"clip": dataclasses.replace(_clip_of(job.workload), **fields)})


def _scale_limit(factor: float) -> injection.Change:
    return injection.in_workload(
        lambda job: {"clip": dataclasses.replace(_clip_of(job.workload), limit=_clip_of(job.workload).limit * factor)}
    )


def _with_clip_in_distinct_directions(where: str) -> Callable[[Workload], Workload | None]:
    """Returns an `adapt` without system 1, whose towers' gradients are parallel: places cannot be told apart there."""
    adapt = injection.with_clip(where)
    return lambda workload: None if workload.parallel_gradients else adapt(workload)


_clip_combined, _clip_towers = injection.with_clip("combined"), injection.with_clip("tower")

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
        plant=_plant_form,
        faults=(
            Fault(
                "shares_clipped_then_summed",
                injection.in_replica_step(_SharesClipped),
                injection.with_clip("combined", bite=0.15),
            ),
            Fault(
                "clipped_on_each_replica",
                _change_clip(where="tower"),
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
        plant=_plant_form,
        faults=(
            Fault(
                "clipped_after_and_not_in_towers",
                _change_clip(where="combined"),
                _with_clip_in_distinct_directions("tower"),
            ),
        ),
        pitfall="R18",
    ),
    Cause(
        id="CLIP_KIND",
        stage=stages.COMBINED,
        title="clipped by another norm",
        signature="Legacy's combined gradient fits one kind of clipping and the port's another",
        why="Keras's clipnorm clips each variable's gradient by its own norm; tf.clip_by_global_norm is called "
        "global_clipnorm there; clipvalue clips single elements.",
        fix="global_clipnorm for tf.clip_by_global_norm, clipnorm for tf.clip_by_norm, clipvalue for tf.clip_by_value.",
        criterion=clip_kind,
        plant=_plant_form,
        faults=(
            Fault("clipnorm_for_global_clipnorm", _change_clip(how="norm"), _clip_combined),
            Fault(
                "clipvalue_for_global_clipnorm", _change_clip(how="value"), injection.with_clip("combined", bite=0.05)
            ),
        ),
    ),
    Cause(
        id="CLIP_LIMIT",
        stage=stages.COMBINED,
        title="clipped at another limit",
        signature="Both sides clip in the same way, at different limits",
        why="A limit that was divided or multiplied by N for a loss that is a share, or a constant that was not "
        "carried over.",
        fix="Give the port legacy's limit.",
        criterion=clip_limit,
        plant=_plant_form,
        faults=(
            Fault(
                "clip_limit_over_replicas",
                injection.in_workload(
                    lambda job: {"clip": Clip(_clip_of(job.workload).limit / job.replicas, "combined")}
                ),
                _clip_combined,
            ),
            Fault("clip_limit_of_another_run", _scale_limit(0.8), _clip_towers),
        ),
    ),
    Cause(
        id="CLIP_MISSING",
        stage=stages.COMBINED,
        title="only one side clips",
        signature="One side's combined gradient is a plain mean or sum, the other's is clipped",
        why="The clipping call was lost, or an optimizer's clipping argument was added.",
        fix="Clip as legacy does.",
        criterion=clip_missing,
        plant=_plant_form,
        faults=(
            Fault("not_clipped", injection.in_workload(lambda job: {"clip": None}), _clip_combined),
            Fault(
                "clipped_in_the_port_only",
                injection.in_workload(lambda job: {"clip": injection.with_clip("combined")(job.workload).clip}),
                injection.without_clip,
            ),
        ),
    ),
)
