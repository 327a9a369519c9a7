"""Tables of made-up comparisons."""

from parity.comparison.difference import Difference
from parity.comparison.result import Verification
from parity.comparison.stage_summary import StageSummary
from parity.diagnosis.context.settings import SettingDifference
from parity.reports import verification_tables
from tests.parity.reports.rendering import headings, rows

SAME = StageSummary(tensors=2, elements=6)
WITHIN = StageSummary(
    tensors=1,
    elements=4,
    differing_elements=3,
    max_abs=0.5,
    max_rel=0.25,
    max_ulp=7,
    worst=Difference("w", 4, 3, 0.5, 0.25, index=(1,), left=2.0, right=2.5),
    worst_step=3,
    worst_allowed=0.5,
)
BEYOND = StageSummary(tensors=1, elements=4, differing_elements=1, max_rel=2.0, failed=3)


def test_settings_have_a_row_each():
    table = verification_tables.settings_table([SettingDifference("input", "feed", "dataset")], "legacy", "modern")
    assert headings(table) == ["setting", "legacy", "modern"]
    assert rows(table) == [("input", "feed", "dataset")]


def test_stages_have_a_row_each():
    table = verification_tables.stages_table({"loss": SAME, "weights": WITHIN, "slots": BEYOND}, "the title")
    assert table.title == "the title"
    assert rows(table) == [
        ("loss", "2", "0 of 6", "0", "0", "0", "-", "-", "[green]ok[/]"),
        ("weights", "1", "3 of 4", "0.5", "0.25", "7", "0.5", "w[1] at step 3: 2.0 | 2.5", "[green]ok[/]"),
        ("slots", "1", "1 of 4", "0", "2", "0", "-", "-", "[red]beyond[/]"),
    ]


def test_the_title_says_which_steps_are_judged():
    free, locked = Verification("auto", "free"), Verification("auto", "locked")
    assert verification_tables.judged_stages_title(free).endswith("along two trajectories")
    assert verification_tables.judged_stages_title(locked).endswith("each step from legacy's state")
    free.trajectory = {"loss": SAME}
    assert verification_tables.judged_stages_title(free).endswith("each step from legacy's state")


def test_comparisons_are_columns():
    table = verification_tables.comparisons_table(
        {
            "a | b": Verification("auto", "free", stages={"loss": SAME, "weights": WITHIN}),
            "a | c": Verification("auto", "free", stages={"weights": BEYOND}),
        }
    )
    assert headings(table) == ["stage", "a | b", "a | c"]
    assert rows(table) == [
        ("loss", "[green]identical[/]", "not recorded"),
        ("weights", "[green]0.25[/]", "[red]2[/]"),
    ]


def test_the_noise_floor_has_a_row_per_stage():
    distances = {"legacy_to_itself": 0.0, "legacy_to_truth": 1.5e-7, "modern_to_truth": 3e-7, "modern_over_legacy": 2.0}
    table = verification_tables.noise_floor_table({"loss": distances})
    assert headings(table) == ["stage", "legacy to itself", "legacy to truth", "modern to truth", "modern / legacy"]
    assert rows(table) == [("loss", "0", "1.5e-07", "3e-07", "2")]
    assert table.title.startswith("measured noise floor")


def test_what_was_not_measured_of_the_noise_floor_is_a_dash():
    assert rows(verification_tables.noise_floor_table({"loss": {"legacy_to_itself": 0.0}})) == [("loss", "0", *"---")]
