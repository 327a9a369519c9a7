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


ALL = "sum = AddN(tower_0/y, tower_1/y)\nwhole = ScalarSummary(tag, sum)\n"
ACCURACY = "tower_0/right = Equal(tower_0/y, x) @ /gpu:0\naccurate = ScalarSummary(tag, tower_0/right)\n"
OTHER = "tower_1/right = Equal(tower_1/y, x) @ /gpu:1\n"


def test_an_accuracy_of_one_tower_beside_the_loss_of_all():
    (found,) = hazards(reports.reports_of_one_tower, DATA + ALL + ACCURACY)
    text = "1 summary shows tower 0 alone: accurate, an accuracy, beside summaries of all towers"
    assert found == ("REPORTED_BY_ONE_TOWER", "accurate", text)


@pytest.mark.parametrize(
    "more",
    [
        OTHER + "other = ScalarSummary(tag, tower_1/right)\n",
        OTHER + "rights = AddN(tower_0/right, tower_1/right)\nother = ScalarSummary(tag, rights)\n",
    ],
)
def test_accuracies_of_all_towers(more):
    assert hazards(reports.reports_of_one_tower, DATA + ALL + ACCURACY + more) == []
