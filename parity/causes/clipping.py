"""Causes in gradient clipping: where, how and at which limit."""

from __future__ import annotations

import dataclasses

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Found
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.workload import Clip


def _forms(evidence):
    """(legacy's form, the port's) where they differ and both are known, else None."""
    left, right = evidence.combined_fits
    if left is None or right is None or left.first is None or right.first is None or left.first in right.fits:
        return None
    return left.first, right.first


def _because(evidence):
    left, right = evidence.combined_fits
    return "legacy's combined gradient is {} (residual {:.1e}), the port's {} ({:.1e}), over {} steps{}".format(
        left.first,
        left.fits[left.first],
        right.first,
        right.fits[right.first],
        right.steps,
        "; the port's was worked out from its update" if right.derived else "",
    )


def _sure(evidence):
    return MEDIUM if evidence.combined_fits[1].derived and evidence.combined_fits[1].noise > 1e-3 else HIGH


def _shares(evidence, forms):
    """The form "sum of clip(g_i / N)" if it explains the port too, where towers point one way and others do as well."""
    times = forms[0].limit * evidence.replicas
    fits = [form for form in evidence.combined_fits[1].fits if form.where == "tower" and form.reduce == "mean"]
    return next((form for form in fits if near(form.limit, times, 1e-4)), None)


def before_reduce(evidence):
    forms = _forms(evidence)
    if forms is not None and forms[0].where == "combined" == forms[1].where and _shares(evidence, forms):
        return Found(
            f"The port lets {evidence.replicas} x legacy's limit through, the number of replicas: it clips each replica's share before "
            "they are reduced.",
            MEDIUM,
            _because(evidence) + "; the replicas' gradients are parallel, so a larger limit would look the same",
        )
    if forms is None or forms[0].where != "combined" or forms[1].where != "tower":
        return None
    limit, used = forms[0].limit, forms[1].limit
    if forms[1].reduce == "mean" and near(used, limit * evidence.replicas, 1e-3):
        detail = f"sum of clip(g_i / N, {limit:.6g}): up to {evidence.replicas} x the limit gets through"
    else:
        detail = f"{forms[1]}"
    return Found(
        "The port clips each replica's gradients before they are reduced; legacy clips what was reduced. It applies "
        f"{detail}.",
        _sure(evidence),
        _because(evidence),
    )


def tower_clip(evidence):
    forms = _forms(evidence)
    if forms is None or forms[0].where != "tower" or forms[1].where != "combined":
        return None
    return Found(
        f"Legacy clips each tower's gradients to {forms[0].limit:.6g} and then combines them; the port clips what was "
        "combined.",
        _sure(evidence),
        _because(evidence),
    )


def kind(evidence):
    forms = _forms(evidence)
    if forms is None or None in (forms[0].where, forms[1].where) or forms[0].how == forms[1].how:
        return None
    return Found(
        "Legacy clips by {}, the port by {}.".format(*(form.how.replace("_", " ") for form in forms)),
        _sure(evidence),
        _because(evidence),
    )


def limit(evidence):
    forms = _forms(evidence)
    if forms is None or (forms[0].where, forms[0].how) != (forms[1].where, forms[1].how) or forms[0].where is None:
        return None
    if near(forms[0].limit, forms[1].limit, 1e-4) or before_reduce(evidence):
        return None
    return Found(
        f"Legacy clips at {forms[0].limit:.6g}, the port at {forms[1].limit:.6g}.",
        _sure(evidence),
        _because(evidence),
    )


def missing(evidence):
    forms = _forms(evidence)
    if forms is None or (forms[0].where is None) == (forms[1].where is None):
        return None
    if forms[1].where is None:
        return Found(
            f"Legacy clips its gradients to {forms[0].limit:.6g} and the port does not.",
            _sure(evidence),
            _because(evidence),
        )
    return Found(
        f"The port clips its gradients to {forms[1].limit:.6g} and legacy does not.",
        _sure(evidence),
        _because(evidence),
    )


class _SharesClipped(injection.Scaled):
    """Keras 3: each replica's share g / N is clipped, then the shares are summed."""

    def _combine(self, context, gradients):
        replicas = self._job.replicas
        shares = {name: value / replicas for name, value in gradients.items()}
        workload = dataclasses.replace(
            self._job.workload, combine="sum", clip=dataclasses.replace(self._job.workload.clip, where="tower")
        )
        job, self._job = self._job, dataclasses.replace(self._job, workload=workload)
        try:
            return super()._combine(context, shares)
        finally:
            self._job = job


def _clip(**changes):
    return injection.fields(lambda job: {"clip": dataclasses.replace(job.workload.clip, **changes)})


def _told_apart(where, how="global_norm"):
    """Workloads whose towers' gradients point in different directions; system 1's are parallel to 1e-6."""
    suits = injection.with_clip(where, how)
    return lambda workload: None if workload.name == "sigmoid_stack" else suits(workload)


def _limit_times(factor):
    return injection.fields(
        lambda job: {"clip": dataclasses.replace(job.workload.clip, limit=job.workload.clip.limit * factor)}
    )


_after, _before = injection.with_clip("combined"), injection.with_clip("tower")

CAUSES = (
    Cause(
        "CLIP_BEFORE_REDUCE",
        stages.COMBINED,
        "the port clips before the reduction",
        "steps in which clipping bites differ in direction; an exact fit is the sum of clip(g_i / N)",
        "Keras 3's optimizers clip in each replica, before the gradients are summed. A share is 1/N as long as the "
        "whole, so the limit may never bite.",
        "Reduce first (replica_context.all_reduce), clip what was reduced, apply it without another reduction.",
        before_reduce,
        (
            Fault(
                "shares_clipped_then_summed", injection.step(_SharesClipped), injection.with_clip("combined", bite=0.15)
            ),
            Fault("clipped_on_each_replica", _clip(where="tower"), _told_apart("combined")),
        ),
        "R17",
    ),
    Cause(
        "TOWER_CLIP",
        stages.COMBINED,
        "legacy clips in each tower",
        "legacy's combined gradient is the mean of clip(g_i), the port's clip(mean of g_i)",
        "Tower code often clipped inside the loop over GPUs; the port clips once, where the framework does it.",
        "Clip each replica's gradient of its mean loss (N times its share) at the limit, then reduce with MEAN.",
        tower_clip,
        (Fault("clipped_after_and_not_in_towers", _clip(where="combined"), _told_apart("tower")),),
        "R18",
    ),
    Cause(
        "CLIP_KIND",
        stages.COMBINED,
        "clipped by another norm",
        "legacy's combined gradient fits one kind of clipping and the port's another",
        "Keras's clipnorm is per variable; tf.clip_by_global_norm is global_clipnorm there; clipvalue is by element.",
        "global_clipnorm for tf.clip_by_global_norm, clipnorm for tf.clip_by_norm.",
        kind,
        (
            Fault("clipnorm_for_global_clipnorm", _clip(how="norm"), _after),
            Fault("clipvalue_for_global_clipnorm", _clip(how="value"), injection.with_clip("combined", bite=0.05)),
        ),
    ),
    Cause(
        "CLIP_LIMIT",
        stages.COMBINED,
        "clipped at another limit",
        "both sides clip alike, at different limits",
        "A limit divided or multiplied by N for a loss that is a share, or a constant that was not carried over.",
        "Give the port legacy's limit.",
        limit,
        (
            Fault(
                "clip_limit_over_replicas",
                injection.fields(lambda job: {"clip": Clip(job.workload.clip.limit / job.replicas, "combined")}),
                _after,
            ),
            Fault("clip_limit_of_another_run", _limit_times(0.8), _before),
        ),
    ),
    Cause(
        "CLIP_MISSING",
        stages.COMBINED,
        "only one side clips",
        "one side's combined gradient is a plain mean or sum, the other's is clipped",
        "The clipping call was lost, or an optimizer's clipping argument was added.",
        "Clip as legacy does.",
        missing,
        (
            Fault("not_clipped", injection.fields(lambda job: {"clip": None}), _after),
            Fault(
                "clipped_in_the_port_only",
                injection.fields(lambda job: {"clip": injection.with_clip("combined")(job.workload).clip}),
                injection.no_clip,
            ),
        ),
    ),
)
