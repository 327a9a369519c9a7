"""All causes, and how they are asked."""

from __future__ import annotations

from parity import stages
from parity.causes import averages, clipping, optimizer, randomness, rate, regularization, scale, statistics
from parity.causes.cause import HIGH, LOW, MEDIUM, Finding

SUBJECTS = (scale, regularization, clipping, rate, optimizer, statistics, averages, randomness)

CAUSES = tuple(cause for subject in SUBJECTS for cause in subject.CAUSES)

_SURE = {HIGH: 0, MEDIUM: 1, LOW: 2}


def find(evidence):
    """[`Finding`] of all causes that the evidence shows: bugs first, by stage in causal order, then by confidence."""
    found = [(cause, cause.find(evidence)) for cause in CAUSES]
    findings = [Finding(cause, what) for cause, what in found if what is not None]
    return sorted(findings, key=_order)


def _order(finding):
    stage = stages.STAGES.index(finding.cause.stage) if finding.cause.stage in stages.STAGES else -1
    return not finding.cause.bug, finding.found.confidence == LOW, stage, _SURE[finding.found.confidence]
