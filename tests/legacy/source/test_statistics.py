"""Which towers change a statistic, where all of them have the same data."""

import types

import pytest

from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.statistics import FIRST_TOWER, LAST_TOWER, find_statistics
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Effect, Input, Variable

GRAPH = """
    x = Placeholder()
    tower_0/mean = Mean(x)
    tower_1/mean = Mean(x)
    both = AddN(tower_0/mean, tower_1/mean)
    moving = VariableV2()
    first = AssignSub(moving, tower_0/mean)
    last = AssignSub(moving, tower_1/mean)
    all = AssignSub(moving, both)
    """


def policy(update, value):
    """The towers whose change of the statistic is kept."""
    plan = types.SimpleNamespace(
        towers=2,
        variables=[Variable("moving", [], "float32", "statistic")],
        inputs=[Input("x", "float32", [4], "same", 0, ["x:0", "x:0"], "")],
        noise=[],
    )
    phase = types.SimpleNamespace(
        effects=[Effect(update, "AssignSub", ["moving"], [value])],
        crossings=[["tower_0/mean:0", "tower_1/mean:0"]],
        versions=[],
    )
    return find_statistics(plan, graph_of(GRAPH), phase, counters=[]).policy


def test_a_statistic_of_data_that_all_towers_share_is_of_the_tower_whose_result_it_takes():
    assert policy("first", "tower_0/mean:0") == FIRST_TOWER
    assert policy("last", "tower_1/mean:0") == LAST_TOWER
    with pytest.raises(Unwritten, match="'moving' is changed by what no tower computes alone, by AssignSub"):
        policy("all", "both:0")
