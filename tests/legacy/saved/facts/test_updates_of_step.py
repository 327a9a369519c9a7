"""Updates of variables by role, in a step of two towers."""

import pytest

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates_of_step import UpdatesOfStep
from tests.legacy.saved.programs import saved_two_towers


@pytest.fixture(scope="module")
def updates():
    found = analyse_graph(saved_two_towers(), "small")
    return UpdatesOfStep(found, AnalysedStep(found))


def test_statistics_and_averages_have_roles_of_their_own(updates):
    statistics, averages = updates.of_role("statistic"), updates.of_role("average")
    assert statistics and averages
    assert not {one.variable for one in statistics} & {one.variable for one in averages}
    assert all(one.weight for one in averages)


def test_variables_that_follow_others_by_a_decay_are_no_copies(updates):
    assert not any(updates.copied(one.variable) for one in updates.of_role("average"))
    assert updates.of_role("none of the roles") == []
