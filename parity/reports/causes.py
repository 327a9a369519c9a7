"""Recognized causes as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parity.causes.basics.cause import RecognizedCause
from parity.causes.basics.confirmation import Remainder, describe_remaining, remaining_json
from parity.causes.unexplained import unexplained_deviations
from parity.diagnosis import summary
from parity.diagnosis.context import settings
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.stage_checks.deviation import Deviation
from parity.diagnosis.stage_checks.step_pattern import describe_steps
from workloads.support.wording import counted, listed

#: Deviations, each of one stage and of equal steps, that are listed in text; JSON has all.
MOST_LISTED, MOST_GROUPS = 3, 8


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
      remaining: tensors that the causes do not explain; None where nothing could be injected.

    Yields:
      lines of text.
    """
    if not recognized and not differs:
        yield f"NOTHING DIFFERS: {counted(len(evidence.steps), 'step')}"
        return
    facts = "; ".join(summary.summarize_facts(evidence))
    unexplained = [] if remaining == () else unexplained_deviations(evidence, recognized)
    if not recognized:
        yield f"NO KNOWN CAUSE: {facts}"
        yield from unexplained_lines(unexplained, evidence.deviations.unjudged)
        yield from _remaining_lines(remaining)
        return
    for number, entry in enumerate(recognized):
        cause, finding = entry.cause, entry.finding
        also = "ALSO " if number else ""
        no_bug = "" if cause.bug else " No bug: both sides compute the same in different terms."
        yield f"{also}{cause.id}: {finding.sentence}{no_bug}"
        yield f"  fix: {cause.fix}"
        yield f"  confidence: {finding.confidence} ({finding.because})"
        if entry.confirmation is not None:
            label = "confirmed" if entry.confirmation.confirmed else "not confirmed"
            yield f"  {label}: {entry.confirmation.sentence(cause.id)}"
        yield f"  more: docs/causes.md#{cause.id.lower()}"
    yield from unexplained_lines(unexplained, [], "ALSO, ")
    yield from _remaining_lines(remaining)
    in_terms = ", of the port's steps in legacy's terms" if evidence.converted else ""
    yield f"facts{in_terms}: {facts}"


def _remaining_lines(remaining: tuple[Remainder, ...] | None) -> Iterator[str]:
    """Yields one line about differences that no cause explains, if there are any."""
    if remaining:
        yield f"unexplained: beside a clean port from the same states, {describe_remaining(remaining)}"


def unexplained_lines(
    unexplained: Sequence[Deviation], unjudged: Sequence[str], opening: str = "NO PARITY, "
) -> Iterator[str]:
    """Yields the place where an unknown cause acts, and the deviations in each stage.

    Args:
      unexplained: deviations that no cause explains, in causal order.
      unjudged: stages that differ and could not be judged.
      opening: of the first line.

    Yields:
      lines of text; none where nothing is unexplained.
    """
    if unexplained:
        first = unexplained[0]
        names = [entry.name for entry in unexplained if (entry.stage, entry.steps) == (first.stage, first.steps)]
        when = describe_steps(first.steps, first.judged)
        yield f"{opening}cause not known: localised to {first.stage} of {listed(names, MOST_LISTED)}, {when}"
    groups: dict[tuple[str, str, tuple[int, ...]], list[Deviation]] = {}
    for entry in unexplained:
        groups.setdefault((entry.stage, entry.side, entry.steps), []).append(entry)
    for members in list(groups.values())[:MOST_GROUPS]:
        worst = max(members, key=lambda entry: entry.roundings)
        others = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        yield f"  unexplained: {worst.sentence}{others}"
    if len(groups) > MOST_GROUPS:
        yield f"  unexplained: {len(groups) - MOST_GROUPS} more groups of tensors, see --json"
    if unjudged:
        yield f"  not judged, since their inputs are not recorded: {', '.join(unjudged)}"


def job_difference_lines(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each field in which the jobs of two recordings' manifests differ, where both name it."""
    for row in settings.differences(left.get("job", {}), right.get("job", {})):
        if "-" not in (row.left, row.right):
            yield f"the recordings' jobs differ in {row.setting}: {row.left} | {row.right}"


def causes_json(
    recognized: Sequence[RecognizedCause],
    evidence: Evidence,
    remaining: tuple[Remainder, ...] | None = None,
    partial: bool = False,
) -> dict[str, Any]:
    """Returns {"causes", "facts", "unexplained", "remaining", ...} for `--json`.

    Args:
      recognized: the causes, the most likely first.
      evidence: facts about the two runs.
      remaining: tensors that the causes do not explain; None where nothing could be injected.
      partial: the causes were to be injected, and that was interrupted.

    Returns:
      {key: value}.
    """
    return {
        "causes": [entry.to_json() for entry in recognized],
        "facts": summary.summarize_facts(evidence),
        "remaining": None if remaining is None else remaining_json(remaining),
        "unexplained": [entry.to_json() for entry in unexplained_deviations(evidence, recognized)],
        "unjudged": evidence.deviations.unjudged,
        "pure_rounding": evidence.deviations.pure_rounding,
        "partial": partial,
    }
