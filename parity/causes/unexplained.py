"""Deviations that no recognized cause explains: faults beside the known ones, or of a kind that nobody has named."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parity.causes.basics.cause import HIGH, LOW, MEDIUM, RecognizedCause
from parity.comparison import stages

if TYPE_CHECKING:
    from parity.diagnosis.context.job_context import Context
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.stage_checks.deviation import Deviation
    from workloads.optimizers import Optimizer
    from workloads.workload import MovingAverage

Record = TypeVar("Record", "Optimizer", "MovingAverage")

_UPDATE = (stages.WEIGHTS, stages.SLOTS)
_PASS = (stages.LOSS, stages.GRADIENTS)

#: {stage of a cause: stages whose deviations it explains}. Each stage is judged from its own inputs, so that nothing
#: travels further; a factor of the loss shows in the loss, the gradients, or where they are combined.
COVERED: Mapping[str, tuple[str, ...]] = {
    stages.INITIAL: (stages.INITIAL,),
    stages.BATCH: (stages.BATCH, *_PASS),
    stages.LOSS: _PASS,
    stages.GRADIENTS: (*_PASS, stages.COMBINED),
    stages.COMBINED: (stages.COMBINED,),
    stages.RATE: (stages.RATE,),
    stages.WEIGHTS: _UPDATE,
    stages.SLOTS: _UPDATE,
    stages.STATISTICS: (stages.STATISTICS,),
    stages.AVERAGES: (stages.AVERAGES,),
}

#: Stages whose values belong to no variable.
_OF_NO_VARIABLE = (stages.BATCH, stages.LOSS, stages.RATE)

#: Ending of the names of statistics as replicas propose them, which the forward pass makes.
PROPOSED = " as proposed"


def unexplained_deviations(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> list[Deviation]:
    """Returns the deviations that none of the recognized causes explains.

    A cause with fitted constants of an optimizer, or of the averages, explains what the rule with these constants
    explains. Any other explains the deviations of its stages, in the variables and steps to which it is confined. One
    of low confidence explains nothing; nor does one from whose terms the evidence was rewritten in legacy's.

    Args:
      evidence: of both programs' steps.
      recognized: the causes.

    Returns:
      the deviations, in causal order.
    """
    sure = [entry for entry in recognized if entry.finding.confidence != LOW]
    ruled = [entry for entry in sure if hypothesis(entry, evidence.context) is not None]
    others = [entry for entry in sure if entry not in ruled and entry.id not in evidence.converted]
    context = evidence.context
    for entry in ruled:
        context = hypothesis(entry, context) or context
    found = evidence.deviations_with(context).found if ruled else evidence.deviations.found
    holding = _change_slots(evidence.context.optimizer)
    return [deviation for deviation in found if not any(_explains(entry, deviation, holding) for entry in others)]


def _change_slots(optimizer: Optimizer | None) -> set[str]:
    """The slots that hold the change of the weights, in any form of the update."""
    if optimizer is None:
        return set()
    held = [optimizer.change_slot(form) for form in optimizer.update_forms()]
    return {slot.slot for slot in held if slot is not None}


def hypothesis(entry: RecognizedCause, context: Context) -> Context | None:
    """Returns the context in which a cause's fitted constants are the job's; None for a cause that is no constant.

    Args:
      entry: the cause.
      context: of the job.

    Returns:
      the changed context.
    """
    finding = entry.finding
    constants = _named_constants(finding.constants)
    if not constants or finding.variables or finding.steps:
        return None
    stage = entry.cause.stage
    if stage in _UPDATE and context.optimizer is not None:
        changed = _with_constants(context.optimizer, constants)
        return None if changed is None else dataclasses.replace(context, optimizer=changed)
    if stage == stages.AVERAGES and context.moving_average is not None:
        average = _with_constants(context.moving_average, constants)
        return None if average is None else dataclasses.replace(context, moving_average=average)
    return None


def _named_constants(constants: Mapping[str, Any]) -> dict[str, float]:
    """{field: value} of constants, also of {"field": name, "value": value}; empty if not all are numbers."""
    if set(constants) == {"field", "value"}:
        return {str(constants["field"]): constants["value"]}
    numbers = {name: value for name, value in constants.items() if isinstance(value, (int, float))}
    return numbers if len(numbers) == len(constants) else {}


def _with_constants(record: Record, constants: Mapping[str, float]) -> Record | None:
    """A frozen record with some fields changed; None if one of the constants is no field of it, or not finite."""
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    if not set(constants) <= set(fields) or not all(np.isfinite(value) for value in constants.values()):
        return None
    changes = {name: type(fields[name])(value) for name, value in constants.items()}
    return dataclasses.replace(record, **changes)


def _explains(entry: RecognizedCause, deviation: Deviation, change_slots: set[str]) -> bool:
    finding, covered = entry.finding, _covered(entry)
    if finding.variables and deviation.stage not in _OF_NO_VARIABLE and deviation.variable not in finding.variables:
        return False
    if finding.steps and not set(deviation.steps) <= set(finding.steps):
        return False
    if deviation.name.endswith(PROPOSED):
        return bool({stages.LOSS, stages.STATISTICS, stages.BATCH} & {*covered})
    if deviation.stage == stages.SLOTS and deviation.name.rsplit("/", 1)[-1] in change_slots:
        return bool({*_UPDATE} & {*covered})  # it shows what the weight's change shows
    return deviation.stage in covered


def with_sound_confidence(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns the causes, high confidence lowered to medium where the fitted constants do not explain all.

    Args:
      evidence: of both programs' steps.
      recognized: the causes.

    Returns:
      the causes in the same order.
    """
    left_over = {deviation.stage for deviation in unexplained_deviations(evidence, recognized)}
    return [_lowered(entry, evidence.context, left_over) for entry in recognized]


def without_superseded(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns the causes without those of low confidence whose stages the others explain to rounding.

    Args:
      evidence: of both programs' steps.
      recognized: the causes.

    Returns:
      the other causes, in the same order.
    """
    left_over = {deviation.stage for deviation in unexplained_deviations(evidence, recognized)}
    explained: set[str] = set()
    for entry in recognized:
        if entry.finding.confidence != LOW and entry.cause.bug:
            explained |= {*_covered(entry)} - left_over

    def superseded(entry: RecognizedCause) -> bool:
        return entry.finding.confidence == LOW and bool(_covered(entry)) and {*_covered(entry)} <= explained

    return [entry for entry in recognized if not superseded(entry)]


def _covered(entry: RecognizedCause) -> tuple[str, ...]:
    """Stages whose deviations a cause explains."""
    return entry.cause.covers or COVERED.get(entry.cause.stage, ())


def _lowered(entry: RecognizedCause, context: Context, left_over: set[str]) -> RecognizedCause:
    finding, cause = entry.finding, entry.cause
    if finding.confidence != HIGH or hypothesis(entry, context) is None:
        return entry
    remaining = sorted(left_over & {*_covered(entry)})
    if not remaining:
        return entry
    because = f"{finding.because}; but with these constants {' and '.join(remaining)} are not explained to rounding"
    return RecognizedCause(cause, dataclasses.replace(finding, confidence=MEDIUM, because=because))
