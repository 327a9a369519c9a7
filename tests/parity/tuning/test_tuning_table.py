"""The table of a made-up search."""

from parity.speed.ratio import SpeedRatio
from parity.tuning import tuning_table
from parity.tuning.search import SearchResult, Trial
from parity.tuning.settings import Settings
from tests.parity.reports.rendering import rows

XLA = Settings((("xla", True),))
GAIN = SpeedRatio(1.25, 1.125, 1.5, 0)
TRIALS = [
    Trial("XLA", XLA, "PARITY", GAIN, True),
    Trial("all-reduce", XLA, "NO PARITY: first at step 0", None, False),
]


def test_a_row_for_each_value():
    found = rows(tuning_table.tuning_table(SearchResult(TRIALS, XLA, GAIN), "settings"))
    assert found == [
        ("XLA", "... --xla=true", "[green]yes[/]", "1.25 [1.12, 1.50]", "kept"),
        ("all-reduce", "... --xla=true", "NO PARITY: first at step 0", "-", ""),
    ]


def test_the_result_says_how_to_repeat_it():
    assert list(tuning_table.tuning_lines(SearchResult(TRIALS, XLA, GAIN))) == [
        "best settings: 1.25 [1.12, 1.50] times the defaults' speed, 95 %, measured anew",
        "to repeat: ... --xla=true",
    ]
    assert list(tuning_table.tuning_lines(SearchResult([], Settings(), None))) == [
        "no setting is faster than the defaults beyond doubt"
    ]
