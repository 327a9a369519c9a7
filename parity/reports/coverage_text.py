"""Sentences about a comparison's coverage: how many mutants it would have seen, which not and why, and the visits."""

from __future__ import annotations

from collections.abc import Sequence

from parity.coverage.mutant import MutantOutcome


def coverage_lines(outcomes: Sequence[MutantOutcome], visits: Sequence[str], no_visits: str = "") -> list[str]:
    """Says what a comparison would have seen.

    Args:
      outcomes: what became of each mutant.
      visits: names of the visits that were compared.
      no_visits: the reason why none were made, or "".

    Returns:
      the report's lines.
    """
    seen = [outcome for outcome in outcomes if outcome.seen]
    missing = [outcome for outcome in outcomes if outcome.is_missing]
    lines = [f"mutants {len(outcomes)}, seen {len(seen)}" + _listed("; not exercised: ", missing)]
    harmless = [outcome for outcome in outcomes if not outcome.seen and not outcome.is_missing]
    if harmless:
        lines.append("mutants that cannot matter" + _listed(": ", harmless))
    if visits:
        lines.append(f"visits {len(visits)}: " + "; ".join(visits))
    elif no_visits:
        lines.append(f"no visits: {no_visits}")
    return lines


def _listed(start: str, outcomes: Sequence[MutantOutcome]) -> str:
    return start + "; ".join(f"{o.mutant.name}, {o.mutant.change} ({o.why})" for o in outcomes) if outcomes else ""
