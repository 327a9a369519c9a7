"""Causes in gradient clipping itself: by another norm, at another limit, or on one side only."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from parity.causes.basics import injection
from parity.causes.basics.cause import Cause, Fault, Finding
from parity.causes.combining.clip_place import clip_before_reduce
from parity.causes.combining.form_difference import (
    change_clip,
    clip_of,
    clip_with_epsilon,
    form_difference,
    inject_form,
)
from parity.causes.combining.group_clip import group_clip
from parity.comparison import stages
from parity.comparison.fits import near
from parity.diagnosis.combined_gradients import EPSILON
from workloads.workload import Clip

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


def clip_kind(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_KIND: both sides clip, by different norms."""
    found = form_difference(evidence)
    if found is None:
        return group_clip(evidence)
    if None in (found.legacy.where, found.port.where) or found.legacy.how == found.port.how:
        return None
    legacy, port = (form.how.replace("_", " ") for form in (found.legacy, found.port))
    sentence = f"Legacy clips by {legacy}, the port by {port}."
    return Finding(sentence, found.confidence, found.because, found.constants)


def _inject_kind(finding: Finding, setup: Setup) -> injection.Change | None:
    return None if "groups" in finding.constants else inject_form(finding, setup)


def clip_limit(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_LIMIT: both sides clip in the same place by the same norm, at different limits."""
    found = form_difference(evidence)
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


def clip_epsilon(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_EPSILON: both sides clip in the same way, and one adds an epsilon to the norm."""
    found = form_difference(evidence)
    if found is None or found.legacy.where is None or found.legacy.epsilon == found.port.epsilon:
        return None
    if dataclasses.replace(found.port, limit=found.legacy.limit, epsilon=found.legacy.epsilon) != found.legacy:
        return None
    if not near(found.legacy.limit, found.port.limit, 1e-4):
        return None
    return Finding(
        f"The port clips to {found.port.limit:.6g} over the norm + {found.port.epsilon:g}, legacy over the norm "
        f"{f'+ {found.legacy.epsilon:g}' if found.legacy.epsilon else 'itself'}.",
        found.confidence,
        found.because,
        found.constants,
    )


def clip_missing(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_MISSING: one side clips and the other does not."""
    found = form_difference(evidence)
    if found is None or (found.legacy.where is None) == (found.port.where is None):
        return None
    if found.port.where is None:
        sentence = f"Legacy clips its gradients to {found.legacy.limit:.6g} and the port does not."
    else:
        sentence = f"The port clips its gradients to {found.port.limit:.6g} and legacy does not."
    because = "a limit that these gradients do not reach would look the same; " + found.because
    return Finding(sentence, found.confidence, because, found.constants)


def _scale_limit(factor: float) -> injection.Change:
    def clip(workload: Workload) -> Clip:
        healthy = clip_of(workload)
        return dataclasses.replace(healthy, limit=healthy.limit * factor)

    return injection.in_workload(lambda job: {"clip": clip(job.workload)})


def _clip_small_gradients(workload: Workload) -> Workload | None:
    """Clips gradients of a norm beside which PyTorch's epsilon is more than rounding; None for larger ones."""
    return injection.with_clip("combined")(workload) if workload.gradient_norm < 1.0 else None


_clip_combined, _clip_towers = injection.with_clip("combined"), injection.with_clip("tower")


CAUSES = (
    Cause(
        id="CLIP_KIND",
        stage=stages.COMBINED,
        title="clipped by another norm",
        signature="Legacy's combined gradient fits one kind of clipping and the port's another",
        why="Keras's clipnorm clips each variable's gradient by its own norm; tf.clip_by_global_norm is called "
        "global_clipnorm there; clipvalue clips single elements. One call of PyTorch's clip_grad_norm_ for each layer "
        "clips each by its own norm.",
        fix="global_clipnorm for tf.clip_by_global_norm, clipnorm for tf.clip_by_norm, clipvalue for tf.clip_by_value.",
        criterion=clip_kind,
        change=_inject_kind,
        faults=(
            Fault("clipnorm_for_global_clipnorm", change_clip(how="norm"), _clip_combined),
            Fault(
                "clipvalue_for_global_clipnorm", change_clip(how="value"), injection.with_clip("combined", bite=0.05)
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
        change=inject_form,
        faults=(
            Fault(
                "clip_limit_over_replicas",
                injection.in_workload(
                    lambda job: {"clip": Clip(clip_of(job.workload).limit / job.replicas, "combined")}
                ),
                _clip_combined,
            ),
            Fault("clip_limit_of_another_run", _scale_limit(0.8), _clip_towers),
        ),
    ),
    Cause(
        id="CLIP_EPSILON",
        stage=stages.COMBINED,
        title="an epsilon is added to the norm that clipping divides by",
        signature="Clipped gradients are smaller by epsilon / norm, about 1e-6, in every step in which clipping acts",
        why="PyTorch's clip_grad_norm_ multiplies with limit / (norm + 1e-6); TensorFlow adds nothing.",
        fix="Multiply with min(1, limit / norm).",
        criterion=clip_epsilon,
        change=inject_form,
        faults=(Fault("clipped_as_by_pytorch", clip_with_epsilon(EPSILON), _clip_small_gradients),),
    ),
    Cause(
        id="CLIP_MISSING",
        stage=stages.COMBINED,
        title="only one side clips",
        signature="One side's combined gradient is a plain mean or sum, the other's is clipped",
        why="The clipping call was lost, or an optimizer's clipping argument was added.",
        fix="Clip as legacy does.",
        criterion=clip_missing,
        change=inject_form,
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
