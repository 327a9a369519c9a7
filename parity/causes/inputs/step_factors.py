"""Factors of the replicas' gradients, step by step: those that are not 1, and the table of them that injects them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import Finding
from parity.causes.basics.gradient_changes import gradients_scaled_by_step
from parity.causes.basics.loss_fit import ShownLosses, shown_losses

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.replica_gradients import ReplicaGradient


#: A loss is legacy's if it differs by at most this part.
SAME_LOSS = 1e-5


class StepFactors(NamedTuple):
    """One step's factor of each replica's gradient, right over left."""

    step: int
    factors: list[float]


def clean_factors(evidence: Evidence) -> list[StepFactors]:
    """Returns the factors of the steps from the same state; none if examples differ, or if a fit is not clean."""
    if any(not batch.same and batch.sizes[0] == batch.sizes[1] for batch in evidence.batches):
        return []
    clean = 4 * evidence.clean_residual
    if any(entry.residual > clean for entry in evidence.gradients if np.isfinite(entry.residual)):
        return []
    rows: dict[int, list[float]] = {}
    for entry in evidence.gradients:
        rows.setdefault(entry.step, []).append(entry.data)
    return [StepFactors(step, factors) for step, factors in sorted(rows.items())]


def losses_contradict(evidence: Evidence, row: StepFactors) -> bool:
    """Returns whether the step's losses are legacy's though its gradients have factors: no mean of the loss differs."""
    entries = [entry for entry in evidence.gradients if entry.step == row.step]
    scaled = [entry for entry in entries if np.isfinite(entry.data) and abs(entry.data - 1) > SAME_LOSS]
    return bool(scaled) and all(abs(entry.loss - 1) <= SAME_LOSS for entry in scaled)


def differs(evidence: Evidence, row: StepFactors) -> bool:
    """Returns whether a factor of the step is not 1."""
    return any(np.isfinite(factor) and abs(factor - 1) > 64 * evidence.eps for factor in row.factors)


def differing_sometimes(evidence: Evidence, rows: list[StepFactors]) -> list[StepFactors]:
    """Returns the steps that differ if others do not, else none."""
    differing = [row for row in rows if differs(evidence, row)]
    return differing if len(differing) < len(rows) else []


def factor_table(evidence: Evidence) -> dict[str, Any]:
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
    """Returns the factor of a replica's loss, a penalty apart; NaN for a loss that is NaN."""
    if not entry.loss_finite[1]:
        return float("nan")
    factor = entry.loss if losses is None else (losses.right - losses.penalty) / (losses.left or 1.0)
    return factor if np.isfinite(factor) else 1.0


def inject_table(finding: Finding, setup: Setup) -> injection.Change:
    """Injects the factors that `factor_table` collected."""
    fitted = finding.constants
    decays = {number: dict(row) for number, row in fitted["decays"]}
    return gradients_scaled_by_step(dict(fitted["factors"]), dict(fitted["losses"]), decays)
