"""All causes, and how they are asked."""

from __future__ import annotations

from parity.causes import (
    averages,
    batch_norm,
    clipping,
    example_counts,
    initial_slots,
    input_batches,
    learning_rate,
    moving_statistics,
    numerics,
    partial_gradients,
    randomness,
    regularization,
    reported_values,
    scale,
    slot_updates,
    sparse,
    step_length,
    update_form,
)
from parity.causes.cause import HIGH, LOW, MEDIUM, Finding
from parity.comparison import stages

SUBJECTS = (
    input_batches,
    randomness,
    example_counts,
    reported_values,
    scale,
    partial_gradients,
    regularization,
    clipping,
    learning_rate,
    initial_slots,
    slot_updates,
    update_form,
    step_length,
    sparse,
    moving_statistics,
    batch_norm,
    averages,
    numerics,
)

CAUSES = tuple(cause for subject in SUBJECTS for cause in subject.CAUSES)

_SURE = {HIGH: 0, MEDIUM: 1, LOW: 2}


def find(evidence):
    """[`Finding`] of all causes that the evidence shows: bugs first, by stage in causal order, then by confidence."""
    return _ask(evidence, [c for c in CAUSES if not c.last]) or _ask(evidence, [c for c in CAUSES if c.last])


def _ask(evidence, causes):
    found = [(cause, cause.find(evidence)) for cause in causes]
    return sorted([Finding(cause, what) for cause, what in found if what is not None], key=_order)


def _order(finding):
    stage = stages.STAGES.index(finding.cause.stage) if finding.cause.stage in stages.STAGES else -1
    return not finding.cause.bug, finding.found.confidence == LOW, stage, _SURE[finding.found.confidence]
