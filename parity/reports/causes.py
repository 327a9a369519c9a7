"""Recognized causes as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parity.causes.cause import RecognizedCause
from parity.causes.confirmation import Remainder, describe_remaining, remaining_json
from parity.comparison import settings
from parity.diagnosis import summary
from parity.diagnosis.evidence import Evidence


def cause_lines(
    recognized: Sequence[RecognizedCause],
    evidence: Evidence,
    differs: bool = True,
    remaining: tuple[Remainder, ...] | None = None,
) -> Iterator[str]:
    """Yields the causes, one paragraph each; without any, "NO KNOWN CAUSE" or "NOTHING DIFFERS".

    Args:
      recognized: the causes, the most likely first.
      evidence: facts about the two runs, whose summary is the last line.
      differs: whether any bit differs.
      remaining: tensors that the causes do not explain; None where nothing could be planted.

    Yields:
      lines of text.
    """
    if not recognized and not differs:
        yield f"NOTHING DIFFERS: {len(evidence.steps)} steps"
        return
    facts = "; ".join(summary.summarize_facts(evidence))
    if not recognized:
        yield f"NO KNOWN CAUSE: {facts}"
        yield from _remaining_lines(remaining)
        return
    for number, entry in enumerate(recognized):
        cause, finding = entry.cause, entry.finding
        also = "ALSO " if number else ""
        no_bug = "" if cause.bug else " No bug: both sides do the same."
        yield f"{also}{cause.id}: {finding.sentence}{no_bug}"
        yield f"  fix: {cause.fix}"
        yield f"  confidence: {finding.confidence} ({finding.because})"
        if entry.confirmation is not None:
            label = "confirmed" if entry.confirmation.confirmed else "not confirmed"
            yield f"  {label}: {entry.confirmation.sentence(cause.id)}"
        yield f"  more: docs/causes.md#{cause.id.lower()}"
    yield from _remaining_lines(remaining)
    yield f"facts: {facts}"


def _remaining_lines(remaining: tuple[Remainder, ...] | None) -> Iterator[str]:
    """Yields one line about what is not explained, if anything is."""
    if remaining:
        yield f"unexplained: beside a clean port from the same states, {describe_remaining(remaining)}"


def job_difference_lines(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each field in which the jobs of two recordings' manifests differ, where both name it."""
    for row in settings.differences(left.get("job", {}), right.get("job", {})):
        if "-" not in (row.left, row.right):
            yield f"the recordings' jobs differ in {row.setting}: {row.left} | {row.right}"


def causes_json(
    recognized: Sequence[RecognizedCause], evidence: Evidence, remaining: tuple[Remainder, ...] | None = None
) -> dict[str, Any]:
    """Returns {"causes", "facts", "remaining"} for `--json`.

    Args:
      recognized: the causes, the most likely first.
      evidence: facts about the two runs.
      remaining: tensors that the causes do not explain; None where nothing could be planted.

    Returns:
      {key: value}.
    """
    return {
        "causes": [entry.to_json() for entry in recognized],
        "facts": summary.summarize_facts(evidence),
        "remaining": None if remaining is None else remaining_json(remaining),
    }
