"""Causes in what a record shows: a loss that is one replica's, a share, a factor that only slots betray."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Found
from parity.causes.scale import DividedToo, Thrice, different, fit_text, number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from parity.diagnosis.gradient_factors import factor_names
from workloads import optimizers


def loss_share(evidence):
    totals = evidence.gradient_factors
    if totals is None or not totals.replicas_shown or different(evidence) is not None or totals.decay:
        return None
    if near(totals.replica, 1, 1e-4):
        return None
    return Found(
        f"Each replica's loss and gradients are {number(totals.replica)} x legacy's and the reduction makes up for it ({number(totals.reduction)} x): the optimizer "
        "gets the same.",
        HIGH,
        fit_text(totals),
    )


def hidden_scale(evidence):
    left, right = evidence.combined_fits
    totals = different(evidence)
    rule = evidence.context.optimizer
    if totals is None or right is None or not right.derived or not isinstance(rule, optimizers.Adam):
        return None
    return Found(
        f"The slots say that every gradient is {number(totals.total)} x legacy's (m x {number(totals.total)}, v x {number(totals.total**2)}); Adam divides it out again, so the "
        "weights nearly agree.",
        HIGH,
        fit_text(totals) + "; the record shows no gradients, they were worked out from the slots",
    )


def reported_loss(evidence):
    found = [entry for entry in evidence.gradients if all(entry.loss_finite)]
    totals = evidence.gradient_factors
    if not found or totals is None or totals.decay or not near(totals.replica, 1, 1e-5):
        return None
    ratios = [entry.loss for entry in found]
    if all(near(ratio, 1, 2 * evidence.eps) for ratio in ratios):
        return None
    what = _reported(evidence)
    if what is None:
        return None
    return Found(
        f"The gradients agree and only the reported loss differs: it is {what}.",
        HIGH,
        f"gradient factor {number(totals.replica)} in {len(found)} replica steps from the same state",
    )


def _reported(evidence):
    steps = [step for step in evidence.steps if step.same_state]
    rows = [(np.array(s.left.losses, np.float64), np.array(s.right.losses, np.float64)) for s in steps]
    tolerance = 2 * evidence.eps
    if any(a.shape != b.shape for a, b in rows):
        return None
    if all(np.allclose(b, a[0], rtol=tolerance) for a, b in rows):
        return "the first replica's alone"
    if all(np.allclose(b, a.sum(), rtol=tolerance) for a, b in rows):
        return "the sum over the replicas"
    if all(np.allclose(b, a.mean(), rtol=tolerance) for a, b in rows):
        return "the mean over the replicas, for each of them"
    ratios = [float(ratio) for a, b in rows for ratio in b / a]
    if spread(ratios) <= 1000 * evidence.eps and not near(ratios[0], 1, 1e-3):
        names = factor_names(ratios[0], evidence.replicas, evidence.context.global_batch)
        return "{} x legacy's{}".format(number(ratios[0]), f" ({names[0]})" if names else "")
    return None


class _Share(DividedToo):
    summed = True


def _forget_gradients(record):
    record.gradients, record.combined = [], {}


def _first_loss(record):
    record.losses = [record.losses[0] for _ in record.losses]


def _loss_shares(record):
    record.losses = [loss / np.asarray(len(record.losses), loss.dtype) for loss in record.losses]


def _loss_sum(record):
    record.losses = [np.sum(record.losses, dtype=record.losses[0].dtype) for _ in record.losses]


def _adam(workload):
    return injection.having(optimizer=optimizers.Adam(), clip=None)(workload)


CAUSES = (
    Cause(
        "HIDDEN_SCALE",
        stages.COMBINED,
        "Adam hides a factor in the gradients",
        "weights agree to about 1e-3; m is a times and v a^2 times legacy's",
        "Adam divides the gradient by its own size, so a wrong scale shows in the slots and hardly in the weights.",
        "Find the factor's own cause (see LOSS_NOT_DIVIDED, LOSS_DIVIDED_TWICE, SUM_REDUCTION); compare gradients or "
        "slots, never weights alone.",
        hidden_scale,
        (
            Fault(
                "slots_show_a_sum",
                injection.fields(lambda job: {"combine": "sum"}) + injection.record(_forget_gradients),
                _adam,
                also=("LOSS_NOT_DIVIDED",),
            ),
            Fault(
                "slots_show_a_factor",
                injection.step(Thrice) + injection.record(_forget_gradients),
                _adam,
                also=("GRADIENT_SCALE",),
            ),
        ),
        "R15",
    ),
    Cause(
        "REPORTED_LOSS",
        stages.LOSS,
        "only the reported loss differs",
        "gradients agree; the loss is one replica's, or the sum, or 1/N",
        "What a step returns is one replica's value, or a share of the global loss, unless it is reduced.",
        "Report strategy.reduce of the per-replica losses: SUM if each is divided by the global batch, else MEAN.",
        reported_loss,
        (
            Fault("first_replicas_loss_reported", injection.record(_first_loss)),
            Fault("shares_of_the_loss_reported", injection.record(_loss_shares)),
            Fault("sum_of_losses_reported", injection.record(_loss_sum)),
        ),
    ),
    Cause(
        "LOSS_SHARE",
        stages.LOSS,
        "each replica has 1/N of the loss and the shares are summed",
        "losses and gradients of a replica are 1/N of legacy's; what the optimizer gets agrees",
        "It is how tf.distribute wants it: the loss divided by the global batch, gradients summed.",
        "Nothing: multiply the replicas' losses and gradients by N before comparing them.",
        loss_share,
        (Fault("shares_summed", injection.step(_Share), injection.no_clip),),
        bug=False,
    ),
)
