"""Legacy's terms: a port's run that computes the same in other terms, rewritten as legacy would record it.

Keras divides each replica's loss by the number of replicas and adds up the gradients, and its momentum slot is -rate
times 1.x's. Neither is a bug, and both differ in all that they touch: what else is wrong there shows only once the
port's records are in legacy's terms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from parity.causes.basics.cause import MEDIUM, Finding, RecognizedCause
from parity.causes.basics.wording import format_number
from parity.causes.catalogue import CAUSES, recognize_causes
from parity.causes.combining.shares import share_of_replicas
from parity.causes.unexplained import unexplained_deviations
from parity.comparison import stages
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays, RecordRewriter, State, StepRecord
from workloads.records.reader import Recording

SHARES, SLOTS = "LOSS_SHARE", "SLOT_CONVENTION"


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
    terms = [entry for entry in recognized if entry.id in (SHARES, SLOTS)]
    if all(entry.id != SHARES for entry in terms) and _passes_unexplained(evidence, recognized):
        terms += _shares(evidence)
    if not terms:
        return InTerms(evidence, list(recognized))
    rewritten = evidence
    for entry in terms:
        rewritten = _rewritten(rewritten, _rewrite_of(entry.finding, entry.id))
    rewritten.converted = tuple(entry.id for entry in terms)
    bugs = [entry for entry in recognize_causes(rewritten) if entry.cause.bug]
    return InTerms(rewritten, [*bugs, *terms])


def terms_alone(recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns the causes if all of them are other terms, so that nothing else was recognized; else none."""
    return list(recognized) if all(entry.id in (SHARES, SLOTS) for entry in recognized) else []


class RecordingInTerms(RecordRewriter):
    """A recording whose records are rewritten in legacy's terms, in the types that it has.

    Args:
      recording: the run.
      terms: the causes that say in which other terms it is; see `terms_alone`.
    """

    def __init__(self, recording: Recording, terms: Sequence[RecognizedCause]) -> None:
        super().__init__(recording)
        self._rewrites = [_rewrite_of(entry.finding, entry.id) for entry in terms]

    def state(self) -> State:
        return self._of_state(super().state())

    def rewrite(self, record: StepRecord) -> StepRecord:
        for rewrite in self._rewrites:
            record = rewrite.record(record)
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
    factor = format_number(share)
    finding = Finding(
        f"The port sums its replicas' gradients where legacy averages, and each replica's loss and gradients are about "
        f"{factor} of legacy's: they are compared after a division by {factor}.",
        MEDIUM,
        "each side's combined gradient is explained by its own replicas'; the replicas' gradients differ besides",
        {"replica": share, "reduction": 1 / share, "loss": share},
    )
    return [RecognizedCause(next(cause for cause in CAUSES if cause.id == SHARES), finding)]


def _rewrite_of(finding: Finding, cause_id: str) -> _Rewrite:
    constants = finding.constants
    if cause_id == SLOTS:
        return _Rewrite(lambda state: _with_momentum(state, -float(constants["learning_rate"])), lambda record: record)
    return _Rewrite(
        lambda state: state, lambda record: _without_factors(record, constants["replica"], constants["loss"])
    )


class _Rewrite(NamedTuple):
    """Functions that rewrite a state, and a record but for its state."""

    state: Callable[[State], State]
    record: Callable[[StepRecord], StepRecord]


def _rewritten(evidence: Evidence, rewrite: _Rewrite) -> Evidence:
    return dataclasses.replace(
        evidence,
        right=rewrite.state(evidence.right),
        steps=[_rewritten_step(step, rewrite) for step in evidence.steps],
        retake_last_step=None,
        retake_with_taps=None,
    )


def _rewritten_step(step: ComparedStep, rewrite: _Rewrite) -> ComparedStep:
    record = rewrite.record(step.right)
    right = dataclasses.replace(record, state=rewrite.state(step.right.state))
    return dataclasses.replace(step, right=right, right_before=rewrite.state(step.right_before))


def _with_momentum(state: State, factor: float) -> State:
    """A state with its momentum slots divided by a factor, in float64: a rounding would look like another slot."""
    slots = {
        name: np.asarray(value, np.float64) / factor + 0.0 if name.endswith("/momentum") else value  # and no -0.0
        for name, value in state.slots.items()
    }
    return dataclasses.replace(state, slots=slots)


def _without_factors(record: StepRecord, of_gradients: float, of_losses: float) -> StepRecord:
    """A record with its replicas' gradients and losses divided by factors."""
    return dataclasses.replace(
        record,
        losses=[loss / np.asarray(of_losses, np.asarray(loss).dtype) for loss in record.losses],
        gradients=[_divided(gradients, of_gradients) for gradients in record.gradients],
        tap_gradients=[_divided(gradients, of_gradients) for gradients in record.tap_gradients],
    )


def _divided(arrays: Arrays, factor: float) -> Arrays:
    return {name: np.asarray(value) / np.asarray(factor, np.asarray(value).dtype) for name, value in arrays.items()}
