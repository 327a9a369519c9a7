"""Lines about a comparison's coverage."""

from parity.coverage.mutant import Choice, Mutant, MutantOutcome
from parity.reports.coverage_text import coverage_lines


def outcome(name, seen=False, harmless=""):
    return MutantOutcome(Mutant(Choice.CLIP, name, "1 -> 2", lambda step: [], lambda: "hidden", lambda: harmless), seen)


def test_what_is_missing_and_what_cannot_matter_is_named_with_its_reason():
    lines = coverage_lines([outcome("a", True), outcome("b"), outcome("c", harmless="same number")], ["step 40"])
    assert lines == [
        "mutants 3, seen 1; not exercised: b, 1 -> 2 (hidden)",
        "mutants that cannot matter: c, 1 -> 2 (same number)",
        "visits 1: step 40",
    ]


def test_a_comparison_that_saw_all_says_so_in_one_line():
    assert coverage_lines([outcome("a", True)], []) == ["mutants 1, seen 1"]


def test_the_reason_for_no_visits_is_given():
    assert coverage_lines([outcome("a", True)], [], "--novisits")[-1] == "no visits: --novisits"
