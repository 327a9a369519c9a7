"""Causes that act on some variables only, or in some steps only.

A criterion wants one explanation for everything that it looks at. Where none is found, it is asked again about the
variables, or the steps, that deviate (`parity.diagnosis.localization`): there the same criterion fits as well as it
does where the cause acts everywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Finding, RecognizedCause
from parity.causes.basics.wording import MOST_NAMED
from parity.comparison import stages
from parity.diagnosis.localization.extents import Extent, StageExtents, find_extents
from parity.diagnosis.localization.restriction import restrict_evidence
from parity.diagnosis.stage_checks.step_pattern import describe_steps
from workloads.support.wording import listed

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

#: {field of `StageExtents`: the stages of the causes that may explain deviations there}.
STAGES_OF = {
    "gradients": (stages.LOSS, stages.GRADIENTS, stages.COMBINED),
    "combined": (stages.COMBINED,),
    "updates": (stages.WEIGHTS, stages.SLOTS),
    "statistics": (stages.STATISTICS,),
    "averages": (stages.AVERAGES,),
}

#: Fits of fewer numbers than this leave too little over to be sure of.
LEAST_NUMBERS = 4


class _Place(NamedTuple):
    """Where a cause is looked for: names of variables, or None for all; steps, or None for all; and this in words."""

    names: list[str] | None
    steps: list[int] | None
    words: str


def recognize_confined_causes(
    evidence: Evidence, causes: Sequence[Cause], recognized: Sequence[RecognizedCause]
) -> list[RecognizedCause]:
    """Returns the causes that explain what deviates, where it does so in some variables or steps only.

    Args:
      evidence: of all variables and steps.
      causes: the catalogue.
      recognized: causes that were recognized in all of it; a stage that one of them explains is left alone.

    Returns:
      the causes, their findings with `variables` and `steps`.
    """
    extents = find_extents(evidence)
    found: list[RecognizedCause] = []
    for field in StageExtents._fields:
        explained = any(_explains(entry, STAGES_OF[field]) for entry in recognized)
        if not explained:
            here = [cause for cause in causes if cause.stage in STAGES_OF[field]]
            found.extend(_recognize(evidence, getattr(extents, field), here))
    return found


def _explains(entry: RecognizedCause, explained: Iterable[str]) -> bool:
    stage = entry.finding.constants.get("stage", entry.cause.stage)  # of causes that act in any stage
    return entry.cause.bug and entry.finding.confidence == HIGH and stage in explained


def _recognize(evidence: Evidence, extent: Extent, causes: Sequence[Cause]) -> list[RecognizedCause]:
    """The causes in the narrowest place that any explains."""
    for place in _places(extent):
        part = restrict_evidence(evidence, place.steps, place.names)
        asked = [cause for cause in causes if _may_act_in(cause, place)]
        findings = [(cause, cause.criterion(part)) for cause in asked]
        found = [
            RecognizedCause(cause, _place_finding(finding, place, part))
            for cause, finding in findings
            if finding is not None and finding.confidence != LOW
        ]
        if found:
            return found
    return []


def _places(extent: Extent) -> list[_Place]:
    steps = extent.steps if extent.in_some_steps else None
    when = describe_steps(extent.steps, sorted(extent.compared)) if steps else ""
    places = []
    if extent.in_some_variables:
        names = extent.names
        which = "in " + listed(names, MOST_NAMED)
        places.append(_Place(names, steps, ", ".join(filter(None, [which, when]))))
    if steps:
        places.append(_Place(None, steps, when))
    return places


def _may_act_in(cause: Cause, place: _Place) -> bool:
    """Returns whether a cause can act there and not elsewhere; other terms of the same are those of every step."""
    return (place.names is None or cause.by_variable) and (place.steps is None or (cause.by_step and cause.bug))


def _place_finding(finding: Finding, place: _Place, part: Evidence) -> Finding:
    few = _count_numbers(part, place.names) < LEAST_NUMBERS
    once = place.steps is not None and len(place.steps) == 1  # no second step repeats what one shows
    doubt = "; very few numbers show it" if few else "; one step alone shows it" if once else ""
    sure = finding.confidence == MEDIUM or not doubt
    return dataclasses.replace(
        finding,
        sentence=f"Only {place.words}: {finding.sentence}",
        confidence=finding.confidence if sure else MEDIUM,
        because=finding.because + "; elsewhere both sides agree" + doubt,
        variables=tuple(place.names or finding.variables),
        steps=tuple(place.steps or finding.steps),
        confined=True,
    )


def _count_numbers(part: Evidence, names: Sequence[str] | None) -> int:
    """Number of elements of the variables that are looked at."""
    known = {**part.left.weights, **part.left.statistics}
    return sum(int(np.size(value)) for name, value in known.items() if names is None or name in names)
