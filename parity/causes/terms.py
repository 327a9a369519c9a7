"""Legacy's terms: a port's run that computes the same in other terms, rewritten as legacy would record it.

Keras divides each replica's loss by the number of replicas and adds up the gradients, and its momentum slot is -rate
times 1.x's; an optimizer's argument applies the decay that legacy has in its loss. None is a bug, and all differ in all
that they touch: what else is wrong there shows only once the port's records are in legacy's terms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity.causes.basics.cause import MEDIUM, Finding, RecognizedCause
from parity.causes.basics.rewriting import Rewrite, rewritten_evidence, with_momentum, without_factors
from parity.causes.basics.wording import format_factor
from parity.causes.catalogue import CAUSES, recognize_causes
from parity.causes.combining.clip_in_optimizer import rewrite_of_clip
from parity.causes.combining.shares import share_of_replicas
from parity.causes.penalties.decay_place import rewrite_of_decay
from parity.causes.unexplained import unexplained_deviations
from parity.comparison import stages
from parity.diagnosis.evidence import Evidence
from workloads.optimizers import Optimizer
from workloads.program import RecordRewriter, State, StepRecord
from workloads.records.reader import Recording

SHARES, SLOTS, DECAY, CLIP = "LOSS_SHARE", "SLOT_CONVENTION", "DECAY_IN_OPTIMIZER", "CLIP_IN_OPTIMIZER"

#: Terms that are recognized only where nothing is left over.
WHOLE = (DECAY, CLIP)

TERMS = (SHARES, SLOTS, *WHOLE)


class InTerms(NamedTuple):
    """A run in legacy's terms: the evidence, and the causes that are recognized in it, terms last."""

    evidence: Evidence
    recognized: list[RecognizedCause]


def in_legacys_terms(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> InTerms:
    """Rewrites the port's records in legacy's terms, if they are in others, and recognizes the causes there.

    Args:
      evidence: of both programs' steps.
      recognized: the causes that are recognized in it.

    Returns:
      the evidence as it is and the same causes where there is nothing to rewrite.
    """
    terms = [entry for entry in recognized if entry.id in TERMS]
    shares = _shares(evidence) if all(entry.id != SHARES for entry in terms) else []
    if shares and not _passes_unexplained(evidence, recognized):
        read = _read_in(evidence, [*terms, *shares])
        if terms_alone(read.recognized) and any(entry.id in WHOLE for entry in read.recognized):
            return read  # no bug is left, whatever the causes that explain the passes in the port's own terms
        shares = []
    terms += shares
    return _read_in(evidence, terms) if terms else InTerms(evidence, list(recognized))


def _read_in(evidence: Evidence, terms: Sequence[RecognizedCause]) -> InTerms:
    """Returns the evidence in legacy's terms and the causes there; those that show in these terms only are added."""
    terms = list(terms)
    rewritten = _in_terms(evidence, terms)
    found = recognize_causes(rewritten)
    whole = [entry for entry in found if entry.id in WHOLE and entry.id not in rewritten.converted]
    if whole:
        terms += whole
        rewritten = _in_terms(evidence, terms)
        found = recognize_causes(rewritten)
    return InTerms(rewritten, [*(entry for entry in found if entry.cause.bug), *terms])


def _in_terms(evidence: Evidence, terms: Sequence[RecognizedCause]) -> Evidence:
    rewritten = evidence
    for entry in terms:
        rewritten = rewritten_evidence(rewritten, _rewrite_of(entry, evidence.context.optimizer))
    rewritten.converted = tuple(entry.id for entry in terms)
    return rewritten


def terms_alone(recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns the causes if all of them only state the same computation in other terms; otherwise none."""
    return list(recognized) if all(entry.id in TERMS for entry in recognized) else []


def terms_beside_rounding(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns the terms of a run in half precision, whose rounding looks like further causes.

    Args:
      evidence: of both programs' steps.
      recognized: the causes that are recognized in it.

    Returns:
      the terms whose constants follow from the job, so that none of them takes up a fault.
    """
    return [*_shares(evidence), *(entry for entry in recognized if entry.id == SLOTS)]


class RecordingInTerms(RecordRewriter):
    """A recording whose records are rewritten in legacy's terms, in the types that it has.

    Args:
      recording: the run.
      terms: the causes that say in which other terms it is; see `terms_alone`.
      optimizer: of the job.

    Attributes:
      manifest: of the recording.
    """

    def __init__(self, recording: Recording, terms: Sequence[RecognizedCause], optimizer: Optimizer) -> None:
        super().__init__(recording)
        self.manifest = recording.manifest
        self._rewrites = [_rewrite_of(entry, optimizer) for entry in terms]
        self._before = super().state()

    def state(self) -> State:
        return self._of_state(super().state())

    def rewrite(self, record: StepRecord) -> StepRecord:
        before, self._before = self._before, record.state
        for rewrite in self._rewrites:
            record = rewrite.record(record, before)
        return dataclasses.replace(record, state=self._of_state(record.state))

    def _of_state(self, state: State) -> State:
        rewritten = state
        for rewrite in self._rewrites:
            rewritten = rewrite.state(rewritten)
        slots = {name: value.astype(np.asarray(state.slots[name]).dtype) for name, value in rewritten.slots.items()}
        return dataclasses.replace(rewritten, slots=slots)


def _passes_unexplained(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> bool:
    """Whether losses or gradients are off by more than a common factor, or than the causes explain."""
    if evidence.gradient_factors is None:
        return True
    return any(entry.stage in (stages.LOSS, stages.GRADIENTS) for entry in unexplained_deviations(evidence, recognized))


def _shares(evidence: Evidence) -> list[RecognizedCause]:
    """LOSS_SHARE where no common factor shows it, since something else differs too."""
    share = share_of_replicas(evidence)
    if share is None:
        return []
    factor = format_factor(share)
    finding = Finding(
        f"The port sums its replicas' gradients where legacy averages, and each replica's loss and gradients are about "
        f"{factor} of legacy's: they are compared after a division by {factor}.",
        MEDIUM,
        "each side's combined gradient is explained by its own replicas'; the replicas' gradients differ besides",
        {"replica": share, "reduction": 1 / share, "loss": share},
    )
    return [RecognizedCause(next(cause for cause in CAUSES if cause.id == SHARES), finding)]


def _rewrite_of(entry: RecognizedCause, optimizer: Optimizer | None) -> Rewrite:
    constants = entry.finding.constants
    if entry.id == SLOTS:
        return with_momentum(-float(constants["learning_rate"]))
    if entry.id == DECAY:
        return rewrite_of_decay(entry.finding, optimizer)
    if entry.id == CLIP:
        return rewrite_of_clip(entry.finding, optimizer)
    return without_factors(constants["replica"], constants["loss"])
