"""`TrialRow`: the result of one trial as `parity.faults` reports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from parity.causes.basics.cause import HIGH, RecognizedCause

if TYPE_CHECKING:
    from parity.fault_injection.injected_faults import InjectedFaults


class TrialRow(TypedDict):
    """The result of one trial; the keys are those of the JSON report.

    Attributes:
      injected: names of the injected faults, joined with a plus.
      expected: ids of the causes that must be named.
      workload: name of the workload that was adapted.
      model: name of the workload that was run.
      replicas: number of replicas.
      detected: whether the faulty side differs at all.
      stage: first stage that differs, or None.
      named: id of the first cause that was recognized, or None.
      confidence: of that cause, or None.
      right: whether that cause is a correct name of one of the faults.
      all_named: ids of all causes that were recognized, in order.
      both_named: whether each fault of a pair was named; None for a single fault.
      wrong_and_sure: ids of causes that were recognized with high confidence and name none of the faults.
      sentence: of the first cause that was recognized, or None.
    """

    injected: str
    expected: list[str]
    workload: str
    model: str
    replicas: int
    detected: bool
    stage: str | None
    named: str | None
    confidence: str | None
    right: bool
    all_named: list[str]
    both_named: bool | None
    wrong_and_sure: list[str]
    sentence: str | None


class TimedTrialRow(TrialRow):
    """A `TrialRow` with the seconds that the trial took."""

    seconds: float


def trial_row(
    injected: InjectedFaults, detected: bool, stage: str | None, recognized: Sequence[RecognizedCause]
) -> TrialRow:
    """Returns the row of one trial.

    Args:
      injected: the faults.
      detected: whether the faulty side differs at all.
      stage: first stage that differs, or None.
      recognized: causes that the criteria recognized, in order.

    Returns:
      the row.
    """
    first = recognized[0] if recognized else None
    ids = [entry.id for entry in recognized]
    correct = {name for allowed in injected.allowed for name in allowed}
    each_named = [any(name in ids for name in allowed) for allowed in injected.allowed]
    return {
        "injected": " + ".join(injected.names),
        "expected": list(injected.expected),
        "workload": injected.base,
        "model": injected.workload.name,
        "replicas": injected.replicas,
        "detected": detected,
        "stage": stage,
        "named": first.id if first else None,
        "confidence": first.finding.confidence if first else None,
        "right": first is not None and first.id in correct,
        "all_named": ids,
        "both_named": all(each_named) if len(each_named) > 1 else None,
        "wrong_and_sure": [
            entry.id for entry in recognized if entry.finding.confidence == HIGH and entry.id not in correct
        ],
        "sentence": first.finding.sentence if first else None,
    }
