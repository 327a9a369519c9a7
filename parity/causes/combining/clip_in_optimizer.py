"""Clipping in another place of the records: legacy's clip, which a port's optimizer applies. No bug."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from parity.causes.basics.cause import HIGH, Cause, Finding
from parity.causes.basics.rewriting import Rewrite, rewritten_evidence, with_clipping
from parity.comparison import stages
from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.evidence import measured_once
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.optimizers import Optimizer


@measured_once
def clip_in_optimizer(evidence: Evidence) -> Finding | None:
    """Recognizes CLIP_IN_OPTIMIZER: with legacy's clip, rounding explains every stage of the port's records."""
    left, right = evidence.combined_fits
    if left is None or left.first is None or left.first.where != "combined" or right is None or right.borrowed:
        return None
    if right.derived or CombinedForm(left.first.reduce) not in right.fits or left.first in right.fits:
        return None
    deviations = rewritten_evidence(evidence, with_clipping(left.first, evidence.context.optimizer)).deviations
    updates = {stages.WEIGHTS} | ({stages.SLOTS} if evidence.right.slots else set())
    if deviations.found or updates & {*deviations.unjudged}:
        return None
    return Finding(
        f"The port's combined gradients are recorded before they are clipped, and its optimizer clips them as legacy "
        f"does: {left.first}.",
        HIGH,
        "with that clip, rounding explains every stage of " + counted(len(evidence.steps), "step"),
        dataclasses.asdict(left.first),
    )


def rewrite_of_clip(finding: Finding, optimizer: Optimizer | None) -> Rewrite:
    """Returns the rewrite that clips the port's combined gradients, which the optimizer reads."""
    return with_clipping(CombinedForm(**finding.constants), optimizer)


CAUSES = (
    Cause(
        id="CLIP_IN_OPTIMIZER",
        stage=stages.COMBINED,
        covers=(stages.COMBINED, stages.SLOTS, stages.WEIGHTS),
        title="the optimizer clips as legacy does",
        signature="The combined gradients are not clipped, and slots and weights are those of gradients that are",
        why="optax.chain(optax.clip_by_global_norm(...), ...), or an optimizer that clips what it gets.",
        fix="Nothing to fix: record what the optimizer makes of the gradients to compare them.",
        criterion=clip_in_optimizer,
        bug=False,
    ),
)
