"""Recognized causes as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parity.causes.cause import RecognizedCause
from parity.comparison import settings
from parity.diagnosis import summary
from parity.diagnosis.evidence import Evidence


def cause_lines(recognized: Sequence[RecognizedCause], evidence: Evidence, differs: bool = True) -> Iterator[str]:
    """Yields the causes, one paragraph each; without any, "NO KNOWN CAUSE" or "NOTHING DIFFERS".

    Args:
      recognized: the causes, the most likely first.
      evidence: facts about the two runs, whose summary is the last line.
      differs: whether any bit differs.

    Yields:
      lines of text.
    """
    if not recognized and not differs:
        yield f"NOTHING DIFFERS: {len(evidence.steps)} steps"
        return
    facts = "; ".join(summary.summarize_facts(evidence))
    if not recognized:
        yield f"NO KNOWN CAUSE: {facts}"
        return
    for number, entry in enumerate(recognized):
        cause, finding = entry.cause, entry.finding
        also = "ALSO " if number else ""
        no_bug = "" if cause.bug else " No bug: both sides do the same."
        yield f"{also}{cause.id}: {finding.sentence}{no_bug}"
        yield f"  fix: {cause.fix}"
        yield f"  confidence: {finding.confidence} ({finding.because})"
        yield f"  more: docs/causes.md#{cause.id.lower()}"
    yield f"facts: {facts}"


def job_difference_lines(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each field in which the jobs of two recordings' manifests differ, where both name it."""
    for row in settings.differences(left.get("job", {}), right.get("job", {})):
        if "-" not in (row.left, row.right):
            yield f"the recordings' jobs differ in {row.setting}: {row.left} | {row.right}"


def causes_json(recognized: Sequence[RecognizedCause], evidence: Evidence) -> dict[str, Any]:
    """Returns {"causes", "facts"} for `--json`."""
    return {"causes": [entry.to_json() for entry in recognized], "facts": summary.summarize_facts(evidence)}
