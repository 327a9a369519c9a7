"""All causes, and their evaluation on the evidence of two runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from parity.causes import (
    averages,
    batch_norm,
    clipping,
    dropout,
    example_counts,
    initial_slots,
    initial_weights,
    input_batches,
    learning_rate,
    moving_statistics,
    numerics,
    partial_gradients,
    regularization,
    reported_values,
    scale,
    slot_updates,
    sparse,
    step_length,
    update_form,
    weight_decay,
)
from parity.causes.cause import HIGH, LOW, MEDIUM, Cause, RecognizedCause
from parity.causes.unexplained import with_sound_confidence
from parity.comparison import stages

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

SUBJECTS = (
    input_batches,
    initial_weights,
    dropout,
    example_counts,
    reported_values,
    scale,
    partial_gradients,
    regularization,
    weight_decay,
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

_CONFIDENCE_ORDER = {HIGH: 0, MEDIUM: 1, LOW: 2}


def recognize_causes(evidence: Evidence) -> list[RecognizedCause]:
    """Returns all causes that the evidence shows: bugs first, by stage in causal order, then by confidence."""
    first = _recognize(evidence, [cause for cause in CAUSES if not cause.last])
    found = first or _recognize(evidence, [cause for cause in CAUSES if cause.last])
    return with_sound_confidence(evidence, found)


def _recognize(evidence: Evidence, causes: Iterable[Cause]) -> list[RecognizedCause]:
    findings = [(cause, cause.criterion(evidence)) for cause in causes]
    recognized = [RecognizedCause(cause, finding) for cause, finding in findings if finding is not None]
    return sorted(recognized, key=order_of)


def order_of(recognized: RecognizedCause) -> tuple[bool, bool, int, int]:
    """Returns the sort key of recognized causes: bugs first, then by stage in causal order, then by confidence."""
    cause, confidence = recognized.cause, recognized.finding.confidence
    stage = stages.STAGES.index(cause.stage) if cause.stage in stages.STAGES else -1
    return not cause.bug, confidence == LOW, stage, _CONFIDENCE_ORDER[confidence]
