"""Causes in the values that a record reports: another loss, a share of it, a factor that only the slots show."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import describe_fit, format_factor
from parity.causes.combining.loss_division import DividedByReplicas
from parity.causes.combining.scale import TimesThree
from parity.causes.combining.total_factor import factor_constants, inject_factors, scaled_totals
from parity.comparison import stages
from parity.comparison.fits import near, spread
from parity.diagnosis.gradient_factors import factor_names, reduction_weights
from workloads import optimizers

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.program import StepRecord
    from workloads.workload import Workload


def hidden_scale(evidence: Evidence) -> Finding | None:
    """Recognizes HIDDEN_SCALE: a factor in gradients that were worked out from Adam's slots."""
    totals, right = scaled_totals(evidence), evidence.combined_fits[1]
    if totals is None or right is None or not right.derived:
        return None
    if not isinstance(evidence.context.optimizer, optimizers.Adam):
        return None
    factor, squared = format_factor(totals.total), format_factor(totals.total**2)
    return Finding(
        f"The slots show that every gradient is {factor} x legacy's (m x {factor}, v x {squared}); Adam divides the "
        "factor out again, so the weights nearly agree.",
        HIGH,
        describe_fit(totals) + "; the record shows no gradients, they were worked out from the slots",
        factor_constants(totals, evidence),
    )


def reported_loss(evidence: Evidence) -> Finding | None:
    """Recognizes REPORTED_LOSS: the replicas' gradients agree and their losses do not."""
    finite = [entry for entry in evidence.gradients if all(entry.loss_finite)]
    totals = evidence.gradient_factors
    if not finite or totals is None or totals.decay or not near(totals.replica, 1, 1e-5):
        return None
    if all(near(entry.loss, 1, 2 * evidence.eps) for entry in finite):
        return None
    reported = _reported_instead(evidence)
    if reported is None:
        return None
    return Finding(
        f"The gradients agree and only the reported loss differs: it is {reported.words}.",
        HIGH,
        f"gradient factor {format_factor(totals.replica)} in {len(finite)} replica steps from the same state",
        {"reported": reported.kind, "factor": reported.factor},
    )


class _Reported(NamedTuple):
    """The port's losses: "first", "sum" or "mean" of the replicas', or each one's times `factor`; and that in words."""

    kind: str
    words: str
    factor: float = 1.0


def _reported_instead(evidence: Evidence) -> _Reported | None:
    """Returns what the port reports instead of each replica's own loss, or None if nothing explains it."""
    steps = [step for step in evidence.steps if step.same_state]
    rows = [(np.array(s.left.losses, np.float64), np.array(s.right.losses, np.float64)) for s in steps]
    tolerance = 2 * evidence.eps
    if any(left.shape != right.shape for left, right in rows):
        return None
    if all(np.allclose(right, left[0], rtol=tolerance) for left, right in rows):
        return _Reported("first", "the first replica's alone")
    if all(np.allclose(right, left.sum(), rtol=tolerance) for left, right in rows):
        return _Reported("sum", "the sum over the replicas")
    if all(np.allclose(right, left.mean(), rtol=tolerance) for left, right in rows):
        return _Reported("mean", "the mean over the replicas, for each of them")
    ratios = [float(ratio) for left, right in rows for ratio in right / left]
    if spread(ratios) <= 1000 * evidence.eps and not near(ratios[0], 1, 1e-3):
        names = factor_names(ratios[0], evidence.replicas, evidence.context.global_batch)
        words = f"{format_factor(ratios[0])} x legacy's" + (f" ({names[0]})" if names else "")
        return _Reported("factor", words, float(np.median(ratios)))
    return None


def loss_share(evidence: Evidence) -> Finding | None:
    """Recognizes LOSS_SHARE: a factor within each replica that the reduction makes up for."""
    totals = evidence.gradient_factors
    if totals is None or not totals.replicas_shown or scaled_totals(evidence) is not None or totals.decay:
        return None
    if near(totals.replica, 1, 1e-4):
        return None
    if _has_legacys_losses(evidence) and _may_reduce_otherwise(evidence):
        return None  # clipping hides a factor as well as another reduction does
    return Finding(
        f"Each replica's loss and gradients are {format_factor(totals.replica)} x legacy's and the reduction makes up "
        f"for it ({format_factor(totals.reduction)} x): the optimizer gets the same.",
        HIGH,
        describe_fit(totals),
        factor_constants(totals, evidence),
    )


def _has_legacys_losses(evidence: Evidence) -> bool:
    """Whether the port reports legacy's losses, as far as losses can be compared."""
    known = [entry.loss for entry in evidence.gradients if all(entry.loss_finite)]
    return bool(known) and all(near(loss, 1, 1e-5) for loss in known)


def _may_reduce_otherwise(evidence: Evidence) -> bool:
    """Whether several forms of the reduction explain a side's combined gradients."""
    return any(len(reduction_weights(side, evidence.replicas)) > 1 for side in evidence.combined_fits)


def _inject_reported(finding: Finding, setup: Setup) -> injection.Change:
    """Injects the losses that are reported; nothing else changes."""
    kind, factor = finding.constants["reported"], finding.constants["factor"]

    def report(record: StepRecord) -> None:
        losses = np.asarray(record.losses)
        whole = {"first": losses[0], "sum": losses.sum(), "mean": losses.mean()}.get(kind)
        shown = losses * factor if whole is None else np.full_like(losses, whole)
        record.losses = [np.asarray(loss, losses.dtype) for loss in shown]

    return injection.in_records(report)


class _SummedShare(DividedByReplicas):
    """Divides each replica's loss by N and sums the gradients."""

    summed = True


def _remove_gradients(record: StepRecord) -> None:
    record.gradients, record.combined = [], {}


def _report_first_loss(record: StepRecord) -> None:
    record.losses = [record.losses[0] for _ in record.losses]


def _report_loss_shares(record: StepRecord) -> None:
    record.losses = [loss / np.asarray(len(record.losses), loss.dtype) for loss in record.losses]


def _report_loss_sum(record: StepRecord) -> None:
    record.losses = [np.sum(record.losses, dtype=record.losses[0].dtype) for _ in record.losses]


def _with_adam(workload: Workload) -> Workload:
    return injection.with_fields(optimizer=optimizers.Adam(), clip=None)(workload)


CAUSES = (
    Cause(
        id="HIDDEN_SCALE",
        stage=stages.COMBINED,
        covers=(stages.LOSS, stages.GRADIENTS, stages.COMBINED, stages.SLOTS),
        title="Adam hides a factor in the gradients",
        signature="Weights agree to about 1e-3, while for some factor a the slot m is a times legacy's and the slot v "
        "a^2 times",
        why="Adam divides the gradient by its own magnitude, so a wrong scale shows in the slots and hardly in the "
        "weights.",
        fix="Find the cause of the factor itself (see LOSS_NOT_DIVIDED, LOSS_DIVIDED_TWICE, SUM_REDUCTION); compare "
        "gradients or slots, never weights alone.",
        criterion=hidden_scale,
        change=inject_factors,
        faults=(
            Fault(
                "slots_show_a_sum",
                injection.in_workload(lambda job: {"combine": "sum"}) + injection.in_records(_remove_gradients),
                _with_adam,
                also=("LOSS_NOT_DIVIDED",),
            ),
            Fault(
                "slots_show_a_factor",
                injection.in_replica_step(TimesThree) + injection.in_records(_remove_gradients),
                _with_adam,
                also=("GRADIENT_SCALE",),
            ),
        ),
        pitfall="R15",
    ),
    Cause(
        id="REPORTED_LOSS",
        stage=stages.LOSS,
        covers=(stages.LOSS,),
        title="only the reported loss differs",
        signature="Gradients agree; the reported loss is one replica's, the sum over the replicas, or 1/N of it",
        why="A step returns one replica's value, or a share of the global loss, unless the values are reduced.",
        fix="Report strategy.reduce of the per-replica losses: with SUM if each is divided by the global batch, else "
        "with MEAN.",
        criterion=reported_loss,
        change=_inject_reported,
        faults=(
            Fault("first_replicas_loss_reported", injection.in_records(_report_first_loss)),
            Fault("shares_of_the_loss_reported", injection.in_records(_report_loss_shares)),
            Fault("sum_of_losses_reported", injection.in_records(_report_loss_sum)),
        ),
    ),
    Cause(
        id="LOSS_SHARE",
        stage=stages.LOSS,
        covers=(stages.LOSS, stages.GRADIENTS, stages.COMBINED),
        title="each replica has 1/N of the loss and the shares are summed",
        signature="The loss and gradients of each replica are 1/N of legacy's; the combined gradients agree",
        why="This is how tf.distribute is meant to be used: the loss is divided by the global batch and the gradients "
        "are summed.",
        fix="Nothing to fix: multiply the replicas' losses and gradients by N before comparing them.",
        criterion=loss_share,
        change=inject_factors,
        faults=(Fault("shares_summed", injection.in_replica_step(_SummedShare), injection.without_clip),),
        bug=False,
    ),
)
