"""All causes, and their evaluation on the evidence of two runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, RecognizedCause
from parity.causes.combining import (
    clip_in_optimizer,
    clip_place,
    clipping,
    combined_factors,
    counted_in_update,
    dropped_gradients,
    loss_division,
    scale,
)
from parity.causes.confinement import recognize_confined_causes
from parity.causes.gradients import (
    network,
    numerics,
    partial_gradients,
    reported_values,
    unrecorded_weights,
    variables,
)
from parity.causes.inputs import dropout, example_counts, initial_slots, initial_weights, input_batches
from parity.causes.penalties import decay_place, penalty_terms, regularization, weight_decay
from parity.causes.statistics import averages, batch_norm, moving_deviation, moving_rules, moving_statistics
from parity.causes.unexplained import unexplained_deviations, with_sound_confidence, without_superseded
from parity.causes.update import (
    epsilon,
    learning_rate,
    momentum_slots,
    optimizer_variants,
    other_inputs,
    other_optimizer,
    rounded_state,
    slot_updates,
    sparse,
    step_length,
    update_form,
)
from parity.comparison import stages

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

SUBJECTS = (
    input_batches,
    initial_weights,
    dropout,
    example_counts,
    reported_values,
    loss_division,
    scale,
    partial_gradients,
    combined_factors,
    counted_in_update,
    dropped_gradients,
    unrecorded_weights,
    variables,
    network,
    regularization,
    penalty_terms,
    weight_decay,
    decay_place,
    clip_in_optimizer,
    clip_place,
    clipping,
    learning_rate,
    initial_slots,
    momentum_slots,
    slot_updates,
    other_inputs,
    optimizer_variants,
    epsilon,
    update_form,
    other_optimizer,
    step_length,
    sparse,
    rounded_state,
    moving_statistics,
    moving_rules,
    batch_norm,
    moving_deviation,
    averages,
    numerics,
)

CAUSES = tuple(cause for subject in SUBJECTS for cause in subject.CAUSES)

#: Stages of the forward and backward pass, of which a cause of a later stage says nothing.
PASSES = (stages.INITIAL, stages.BATCH, stages.LOSS, stages.GRADIENTS)

_CONFIDENCE_ORDER = {HIGH: 0, MEDIUM: 1, LOW: 2}


@np.errstate(all="ignore")
def recognize_causes(evidence: Evidence) -> list[RecognizedCause]:
    """Returns all causes that the evidence shows: bugs first, by stage in causal order, then by confidence.

    A run may hold infinite numbers and NaN; no criterion takes what follows from them for a fit.
    """
    causes = [cause for cause in CAUSES if not cause.last]
    everywhere = _recognize(evidence, causes)
    whole = [entry for entry in everywhere if entry.cause in (*decay_place.CAUSES, *clip_in_optimizer.CAUSES)]
    if whole:  # found only where nothing is left over
        return whole
    confined = recognize_confined_causes(evidence, causes, everywhere)
    first = sorted([*everywhere, *confined], key=order_of)
    found = sorted([*first, *_recognize(evidence, _last_causes(evidence, first))], key=order_of)
    return without_superseded(evidence, with_sound_confidence(evidence, found))


def _last_causes(evidence: Evidence, first: Sequence[RecognizedCause]) -> list[Cause]:
    """The causes that are asked for last: all if there is no other, else those of passes that the others leave open."""
    last = [cause for cause in CAUSES if cause.last]
    if not first:
        return last
    if any(entry.cause.stage in PASSES for entry in first if entry.cause.bug):
        return []
    open_stages = {deviation.stage for deviation in unexplained_deviations(evidence, first)}
    return [cause for cause in last if cause.bug and cause.stage in open_stages]


def _recognize(evidence: Evidence, causes: Iterable[Cause]) -> list[RecognizedCause]:
    findings = [(cause, cause.criterion(evidence)) for cause in causes]
    recognized = [RecognizedCause(cause, finding) for cause, finding in findings if finding is not None]
    return sorted(recognized, key=order_of)


def order_of(recognized: RecognizedCause) -> tuple[bool, bool, int, int]:
    """Returns the sort key of recognized causes: bugs first, then by stage in causal order, then by confidence."""
    cause, confidence = recognized.cause, recognized.finding.confidence
    stage = stages.STAGES.index(cause.stage) if cause.stage in stages.STAGES else -1
    return not cause.bug, confidence == LOW, stage, _CONFIDENCE_ORDER[confidence]
