"""Made-up facts about updates: one line says what differs, everything else is as the optimizer's rule says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.causes.basics.cause import Cause, Finding
from parity.comparison.fits import FactorFit
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.updates import DecayFit, SlotFit, Update, Updates, WrongRows
from tests.parity.step_records import learning_rates, made_up_evidence
from workloads.optimizers import OWN, Optimizer, UpdateForm, epsilon_form
from workloads.optimizers.update_forms import KERAS_SLOT, NESTEROV


def update(
    step: int = 0,
    learning_rate: float = 0.5,
    forms: Mapping[UpdateForm, float] | None = None,
    factor: tuple[float, float] = (1.0, 0.0),
    decay: tuple[float, ...] = (0.0, 0.0, 0.0),
    still: Sequence[str] = (),
    rows: Mapping[str, tuple[float, float]] | None = None,
    wrong: Sequence[str] = (),
) -> Update:
    """Returns one step; tuples are the fields of `FactorFit`, `DecayFit` and `WrongRows`."""
    wrong_rows = {name: WrongRows(*parts) for name, parts in (rows or {}).items()}
    misfits = dict(forms or {OWN: 1.0})
    return Update(
        step, learning_rate, misfits, FactorFit(*factor), DecayFit(*decay), list(still), wrong_rows, list(wrong)
    )


def slot_fit(
    step: int = 0,
    keep: float = 0.5,
    gain: float = 1.0,
    residual: float = 0.0,
    old_size: float = 1.0,
    gain_size: float = 1.0,
) -> SlotFit:
    """Returns the fit of a slot that keeps half of itself and adds the gradient."""
    return SlotFit(step, keep, gain, residual, old_size, gain_size)


def updates(*steps: Update, **slots: Sequence[SlotFit]) -> Updates:
    """Returns one side's updates; one step as the rule says unless given."""
    return Updates(list(steps) or [update()], {slot: list(fits) for slot, fits in slots.items()})


def evidence_of_updates(
    left: Updates | None, right: Updates | None, optimizer: Optimizer | None = None, equal_rates: bool = True
) -> Evidence:
    """Returns evidence of both sides' updates."""
    context = Context(replicas=2, global_batch=8, optimizer=optimizer)
    rates = learning_rates([0.5], [0.5 if equal_rates else 0.25])
    return made_up_evidence((), context, updates=(left, right), learning_rates=rates)


def side(own: float = 1.0, factor: tuple[float, float] = (1.0, 0.0), **misfits: float) -> Updates:
    """Returns one side's updates in one step.

    Args:
      own: misfit of the rule's own form.
      factor: fields of the `FactorFit` of the change by that form.
      **misfits: misfits of other forms: "large" and "other" (epsilons), "nesterov", "keras".
    """
    names = {
        "large": epsilon_form("1e-3"),
        "other": epsilon_form("1e-7"),
        "nesterov": NESTEROV,
        "keras": KERAS_SLOT,
    }
    forms = {OWN: own, **{names[name]: misfit for name, misfit in misfits.items()}}
    slots = {slot: [slot_fit()] for slot in ("m", "v", "momentum", "rms")}
    return updates(update(forms=forms, factor=factor), **slots)


def momentum_side(
    rates: Sequence[float],
    keeps: Sequence[float] = (0.5, 0.5, 0.5),
    gains: Sequence[float] = (1.0, 1.0, 1.0),
    **known: float,
) -> Updates:
    """Returns one side's momentum in three steps; legacy's slot keeps half of itself and adds the gradient.

    Args:
      rates: learning rate of each step.
      keeps: part of itself that the slot keeps in each step.
      gains: multiple of the gradient that it takes up.
      **known: further fields of `SlotFit`.
    """
    steps = [update(step, rate) for step, rate in enumerate(rates)]
    fits = [slot_fit(step, keep, gain, **known) for step, (keep, gain) in enumerate(zip(keeps, gains))]
    return updates(*steps, momentum=fits)


def recognized_causes(
    causes: Sequence[Cause],
    left: Updates | None,
    right: Updates | None,
    optimizer: Optimizer | None,
    equal_rates: bool = True,
) -> dict[str, Finding]:
    """Returns {id: finding} of the causes that both sides' updates show."""
    evidence = evidence_of_updates(left, right, optimizer, equal_rates)
    findings = {cause.id: cause.criterion(evidence) for cause in causes}
    return {name: finding for name, finding in findings.items() if finding is not None}
