"""All causes, and how they are asked."""

from __future__ import annotations

from parity import stages
from parity.causes import (
    averages,
    batch_norm,
    clipping,
    counting,
    data,
    moves,
    numerics,
    randomness,
    rate,
    regularization,
    scale,
    shown,
    slot_rules,
    slots,
    some,
    sparse,
    statistics,
    update_form,
)
from parity.causes.cause import HIGH, LOW, MEDIUM, Finding

SUBJECTS = (
    data,
    randomness,
    counting,
    shown,
    scale,
    some,
    regularization,
    clipping,
    rate,
    slots,
    slot_rules,
    update_form,
    moves,
    sparse,
    statistics,
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
