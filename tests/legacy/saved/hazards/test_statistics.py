"""Hazards of batch statistics, each with a program that does not have it."""

import types

import numpy as np
import pytest

from legacy.saved.hazards import statistics
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Effect, Race, Variable

MEANS = """
    mean0 = Mean(x0)
    mean1 = Mean(x1)
    x0 = Placeholder()
    x1 = Placeholder()
    s = VariableV2()
    t = VariableV2()
    move0 = Assign(s, mean0)
    move1 = Assign(t, mean1)
    """


def analysis(updates, towers=2, roles=("statistic", "statistic"), races=True, **plan):
    """An analysis of `MEANS` with the given {update op: variable}."""
    effects = [Effect(node, "Assign", [variable], []) for node, variable in updates.items()]
    races = [Race("s", "move0", "move1")] if races else []
    phase = types.SimpleNamespace(crossings=[["mean0:0", "mean1:0"]], effects=effects, races=races)
    variables = [Variable(name, [], "float32", role) for name, role in zip(("s", "t"), roles)]
    plan = types.SimpleNamespace(towers=towers, variables=variables, phases=[phase], **plan)
    return types.SimpleNamespace(plan=plan, cut=types.SimpleNamespace(graph=graph_of(MEANS)))


@pytest.mark.parametrize(
    "updates, expected",
    [
        ({"move0": "s"}, [("STATISTICS_OF_ONE_TOWER", "s", "1 statistic is updated by the first tower only")]),
        ({"move1": "s"}, [("STATISTICS_OF_ONE_TOWER", "s", "1 statistic is updated by the last tower only")]),
        ({"move0": "s", "move1": "t"}, []),  # each tower has its own
        ({"x0": "s"}, []),  # computed from no tower's results
        ({"move0": "weight"}, []),
    ],
)
def test_statistics_of_one_tower(updates, expected):
    assert [found[:3] for found in statistics.statistics_of_towers(None, analysis(updates))] == expected


def test_statistics_that_towers_update_in_turn():
    found = analysis({"move0": "s", "move1": "s"})
    (hazard,) = statistics.statistics_of_towers(None, found)
    assert hazard[:3] == (
        "STATISTICS_RACE",
        "s",
        "1 statistic is updated by several towers one after the other, in no fixed order",
    )


def test_statistics_that_control_dependencies_order_do_not_race():
    assert not list(statistics.statistics_of_towers(None, analysis({"move0": "s", "move1": "s"}, races=False)))


def test_a_counter_that_two_optimizers_raise_is_no_statistic_of_towers():
    assert not list(statistics.statistics_of_towers(None, analysis({"x0": "s", "x1": "s"})))


def test_statistics_of_one_tower_alone_are_meant():
    assert not list(statistics.statistics_of_towers(None, analysis({"move0": "s"}, towers=1)))


@pytest.mark.parametrize("decay, count", [(1.0, 0), (0.75, 1)])
def test_statistics_to_which_nothing_is_added_are_not_updated(decay, count):
    """A batch norm that runs as in evaluation has a decay of 1."""
    text = MEANS + "one = Const()\ndecay = Const()\nshare = Sub(one, decay)\nchange = Mul(mean0, share)\n"
    constants = {"one": {"value": np.float32([1])}, "decay": {"value": np.float32([decay])}}
    made = analysis({"move0": "s"})
    made.cut.graph = graph_of(text + "moved = AssignSub(s, change)\n", **constants)
    made.plan.phases[0].effects = [Effect("moved", "AssignSub", ["s"], ["change:0"])]
    assert len(list(statistics.statistics_of_towers(None, made))) == count
