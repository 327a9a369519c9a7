"""Outcomes of mutants: seen, missing, and harmless."""

from parity.coverage.mutant import WITHIN_TOLERANCE, Choice, Mutant, MutantOutcome
from parity.coverage.observed_step import ObservedStep


def outcome(harmless="", **fields):
    return MutantOutcome(
        Mutant(Choice.CLIP, "clip.limit", "1 -> 2", lambda step: [], lambda: "never acts", lambda: harmless), **fields
    )


def test_a_mutant_that_was_not_seen_is_missing_unless_it_cannot_matter():
    assert outcome().is_missing and not outcome("no run shows it").is_missing
    assert not outcome(seen=True, place="step 3", stage="weights").is_missing


def test_what_cannot_matter_may_only_show_after_more_steps():
    reasons = []
    found = MutantOutcome(
        Mutant(Choice.UPDATE, "update of w", "left out", lambda step: [], harmless=lambda: "".join(reasons))
    )
    assert found.is_missing
    reasons.append("its gradient is zero in every compared step")
    assert not found.is_missing and found.to_json()["matters"] is False


def test_json_says_where_or_why():
    assert outcome(seen=True, place="step 3", stage="weights").to_json() == {
        "name": "clip.limit", "choice": "clip", "change": "1 -> 2", "seen": True, "matters": True,
        "why": "weights differ", "step": "step 3",
    }  # fmt: skip
    assert outcome().to_json()["why"] == "never acts"
    assert outcome(within=True).why == WITHIN_TOLERANCE and outcome(within=True).is_missing
    assert outcome("no run shows it").to_json()["matters"] is False


def test_a_step_with_a_nan_is_not_finite():
    from tests.parity.coverage.cases import dyadic_job, observed

    job = dyadic_job()
    assert isinstance(observed(job), ObservedStep) and observed(job).is_finite
    assert not observed(job, losses=[float("nan")]).is_finite
