"""Causes that touch some weights' or some replicas' gradients only."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Found
from parity.causes.scale import number
from parity.comparison import stages
from parity.comparison.fits import near, spread


def _by_weight(evidence):
    """{weight: [factor, one a replica and step]} if each weight's gradient is one clean factor, else {}."""
    found = [entry for entry in evidence.gradients if entry.tensors]
    if not found or evidence.gradient_factors is not None:
        return {}
    rows = {}
    for entry in found:
        for name, fit in entry.tensors.items():
            if not np.isfinite(fit.factor):
                continue
            if fit.residual > 4 * evidence.clean_residual and fit.factor != 0:
                return {}
            rows.setdefault(name, []).append(fit.factor)
    return {name: values for name, values in rows.items() if spread(values) < 1e-3}


def no_gradient(evidence):
    rows = _by_weight(evidence)
    zero = [name for name, values in rows.items() if not any(values)]
    if not zero or len(zero) == len(rows):
        return None
    return Found(
        "{} weights get no gradient in the port ({}); legacy's do.".format(len(zero), ", ".join(sorted(zero)[:3])),
        HIGH,
        "exactly zero in every replica and step from the same state",
    )


def partly_scaled(evidence):
    rows = _by_weight(evidence)
    off = {name: values[0] for name, values in rows.items() if not near(values[0], 1, 1e-4) and any(values)}
    if not off or len(off) == len(rows) or spread(off.values()) > 1e-3:
        return None
    name, factor = sorted(off.items())[0]
    return Found(
        f"The gradients of {len(off)} of {len(rows)} weights are {number(factor)} x legacy's, the others agree ({name}).",
        HIGH,
        "weight by weight, one factor in every replica and step from the same state",
    )


def left_out(evidence):
    left, right = evidence.combined_fits
    for side, who in ((right, "the port"), (left, "legacy")):
        if side is None or side.first is not None or side.borrowed or len(side.coefficients[0].coefficients) < 2:
            continue
        rows = np.array([fit.coefficients for fit in side.coefficients])
        if max(fit.residual for fit in side.coefficients) > side.noise or np.max(np.ptp(rows, axis=0)) > 1e-3:
            continue
        shares = rows.mean(axis=0)
        missing = [i for i, share in enumerate(shares) if abs(share) < 1e-3]
        if missing and len(missing) < len(shares):
            return Found(
                "In {} the gradients of replica{} {} never reach the update; the others count {}.".format(
                    who,
                    "s" if len(missing) > 1 else "",
                    ", ".join(map(str, missing)),
                    ", ".join(number(share) for share in shares if abs(share) >= 1e-3),
                ),
                HIGH,
                f"the combined gradient is a sum of the replicas' with these weights, residual {max(fit.residual for fit in side.coefficients):.1e}",
            )
    return None


class _SomeTwice(injection.Scaled):
    """The first weight's gradient is doubled."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        name = next(iter(gradients))
        return (loss, {**gradients, name: gradients[name] * 2.0}, *rest)


class _SomeStopped(injection.Scaled):
    """The first weight's gradient is stopped."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        name = next(iter(gradients))
        return (loss, {**gradients, name: gradients[name] * 0.0}, *rest)


class _FirstOnly(injection.Scaled):
    """Only the first replica's gradients are used."""

    def _combine(self, context, gradients):
        from modern.collectives import exchange

        return dict(zip(gradients, exchange.from_first(context, list(gradients.values()))))


CAUSES = (
    Cause(
        "GRADIENT_MISSING",
        stages.GRADIENTS,
        "some weights get no gradient",
        "gradients of some weights are zero, of the others equal",
        "A stop_gradient, a variable that is read outside the tape, a layer that is not trainable.",
        "Compute the loss from the variables themselves, inside the tape.",
        no_gradient,
        (Fault("first_weights_gradient_stopped", injection.step(_SomeStopped)),),
    ),
    Cause(
        "GRADIENT_PARTLY_SCALED",
        stages.GRADIENTS,
        "some weights' gradients have a factor",
        "gradients of some weights are one number times legacy's, of the others equal",
        "A gradient multiplier for some layers (slim's, or a custom gradient), or a weight that is used twice.",
        "Carry the multipliers over.",
        partly_scaled,
        (Fault("first_weights_gradient_doubled", injection.step(_SomeTwice)),),
    ),
    Cause(
        "REPLICA_LEFT_OUT",
        stages.COMBINED,
        "some replicas' gradients never reach the update",
        "the combined gradient is a sum of the replicas' with some weights zero",
        "A combining step that overwrites instead of adding, or an update that reads one replica's gradient.",
        "Reduce all replicas: replica_context.all_reduce, or merge_call with extended.reduce_to.",
        left_out,
        (Fault("only_the_first_replicas_gradients", injection.step(_FirstOnly), injection.no_clip),),
    ),
)
