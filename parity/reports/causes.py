"""Named causes as text for people and as JSON for programs."""

from __future__ import annotations

from parity.comparison import settings
from parity.diagnosis import summary


def lines(recognized, evidence, differs=True):
    """The causes, the most likely first, one paragraph each; or "no known cause" and the sharpest facts."""
    if not recognized and not differs:
        yield f"NOTHING DIFFERS: {len(evidence.steps)} steps"
        return
    if not recognized:
        yield "NO KNOWN CAUSE: {}".format("; ".join(summary.summarize_facts(evidence)))
        return
    for number, entry in enumerate(recognized):
        cause, finding = entry.cause, entry.finding
        also, no_bug = "ALSO " if number else "", "" if cause.bug else " No bug: both sides do the same."
        yield f"{also}{cause.id}: {finding.sentence}{no_bug}"
        yield f"  fix: {cause.fix}"
        yield f"  confidence: {finding.confidence} ({finding.because})"
        yield f"  more: docs/causes.md#{cause.id.lower()}"
    yield "facts: " + "; ".join(summary.summarize_facts(evidence))


def told_differences(left, right):
    """Lines about fields in which two recordings' jobs differ, as they say themselves; where both say."""
    jobs = left.get("job", {}), right.get("job", {})
    rows = [row for row in settings.differences(*jobs) if "-" not in row[1:]]
    for name, a, b in rows:
        yield f"the recordings' jobs differ in {name}: {a} | {b}"


def to_json(recognized, evidence):
    """For `--json`."""
    return {"causes": [entry.to_json() for entry in recognized], "facts": summary.summarize_facts(evidence)}


def differs(evidence):
    """Whether anything that both sides show has other bits."""
    from parity.fault_injection import trial

    return trial.first_difference(evidence) is not None
