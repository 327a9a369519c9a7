"""Summaries that show one tower's results alone, and programs whose summaries show all."""

import pytest

from legacy.saved.hazards import reports
from tests.legacy.saved.hazards.two_towers import TOWERS, hazards

#: Both towers multiply data.
DATA = TOWERS.replace("Mul(v, w)", "Mul(v, x)") + "x = IteratorGetNext()\ntag = Const()\n"
FIRST = "shown = ScalarSummary(tag, tower_0/y)\n"


def test_a_summary_of_the_first_tower_alone():
    (found,) = hazards(reports.reports_of_one_tower, DATA + FIRST)
    assert found == ("REPORTED_BY_ONE_TOWER", "shown", "1 summary shows tower 0 alone")


@pytest.mark.parametrize(
    "more",
    [
        "other = ScalarSummary(tag, tower_1/y)\n",  # the second tower is shown, too
        "sum = AddN(tower_0/y, tower_1/y)\nwhole = ScalarSummary(tag, sum)\n",
        "other = ScalarSummary(tag, tower_1/y)\nmerged = MergeSummary(shown, other)\n",
    ],
)
def test_summaries_of_all_towers(more):
    assert hazards(reports.reports_of_one_tower, DATA + FIRST + more) == []


def test_only_merged_summaries_are_written():
    text = DATA + FIRST + "other = ScalarSummary(tag, tower_1/y)\nmerged = MergeSummary(shown)\n"
    assert [found[0] for found in hazards(reports.reports_of_one_tower, text)] == ["REPORTED_BY_ONE_TOWER"]
