"""Hazards in what is learned, each with a program that does not have it."""

import types

import numpy as np
import pytest

from legacy.saved.report import learning_hazards
from legacy.saved.report.whole_graph import WholeGraph
from tests.legacy.saved.graphs import graph_of, saved
from workloads.lifted.plan import Effect, Input, Variable

PENALTY = """
    w = VariableV2()
    tower_0/l2 = L2Loss(w)
    gradients/tower_0/l2_grad/mul = Mul(tower_0/l2)
    tower_1/l2 = L2Loss(w)
    gradients/tower_1/l2_grad/mul = Mul(tower_1/l2)
    sum = AddN(gradients/tower_0/l2_grad/mul, gradients/tower_1/l2_grad/mul)
    train = ApplyGradientDescent(w, sum)
    """


def whole(text, **attributes):
    return WholeGraph(saved(graph_of(text, **attributes), trainable_variables=["w"]))


def ids(hazards):
    return [(hazard.id, hazard.op) for hazard in hazards]


def test_a_penalty_in_every_towers_gradient_is_no_hazard():
    assert ids(learning_hazards.regularization(whole(PENALTY))) == []
    assert ids(learning_hazards.regularization(whole("x = Placeholder()\n"))) == []


def test_a_penalty_of_one_tower():
    text = PENALTY.replace("tower_0/l2 = L2Loss", "tower_0/l2 = Square")
    (found,) = learning_hazards.regularization(whole(text))
    assert (found.id, found.op) == ("REGULARIZATION_ONCE", "tower_1/l2")
    assert found.description == "regularization terms by tower: 0, 1; averaged over 2 towers they count 0.5 of 1"


def test_a_penalty_in_no_gradient():
    text = PENALTY.replace("L2Loss", "Square") + "my_regularizer = Mul(w)\n"
    (found,) = learning_hazards.regularization(whole(text))
    assert (found.id, found.op) == ("REGULARIZATION_LOST", "my_regularizer")


def test_a_global_norm_of_gradients_is_no_penalty():
    text = PENALTY.replace("L2Loss", "Square") + "norm = L2Loss(sum)\n"
    assert ids(learning_hazards.regularization(whole(text))) == []


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


def analysis(updates, towers=2, roles=("statistic", "statistic"), **plan):
    """An analysis of `MEANS` with the given {update op: variable}."""
    effects = [Effect(node, "Assign", [variable], []) for node, variable in updates.items()]
    phase = types.SimpleNamespace(crossings=[["mean0:0", "mean1:0"]], effects=effects)
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
    assert [found[:3] for found in learning_hazards.statistics(None, analysis(updates))] == expected


def test_statistics_that_towers_update_in_turn():
    found = analysis({"move0": "s", "move1": "s"})
    (hazard,) = learning_hazards.statistics(None, found)
    assert hazard[:3] == (
        "STATISTICS_RACE",
        "s",
        "1 statistic is updated by several towers one after the other, in no fixed order",
    )


def test_statistics_of_one_tower_alone_are_meant():
    assert not list(learning_hazards.statistics(None, analysis({"move0": "s"}, towers=1)))


LOSS = """
    x = Placeholder()
    c = Const()
    sum = Sum(x)
    same = Identity(sum)
    loss = RealDiv(same, c)
    """


def divided(value, op="RealDiv", batch=8, text=LOSS):
    """Descriptions of the hazards of a loss that is a sum over or times a constant."""
    text = text.replace("RealDiv", op)
    attributes = {"c": {"value": np.asarray(value, np.float32)}}
    phase = types.SimpleNamespace(losses=["loss:0", "other:0"])
    plan = types.SimpleNamespace(batch=batch, towers=2, phases=[phase])
    found = types.SimpleNamespace(plan=plan, cut=types.SimpleNamespace(graph=graph_of(text, **attributes)))
    return [hazard.description for hazard in learning_hazards.batch_constants(whole(text, **attributes), found)]


@pytest.mark.parametrize(
    "value, options, expected",
    [
        (8, {}, []),  # the mean over a tower's examples
        (1, {}, []),
        (0.5, {}, []),
        (16, {}, ["a sum over a tower's 8 examples is divided by all towers' 16"]),
        (5, {}, ["a sum over a tower's 8 examples is divided by 5"]),
        (5, {"batch": None}, ["a sum over examples is divided by 5, and the inputs take any batch"]),
        (0.0625, {"op": "Mul"}, ["a sum over a tower's 8 examples is divided by all towers' 16"]),
        (0, {"op": "Mul"}, []),
        (5.0004, {}, ["a sum over a tower's 8 examples is divided by 5"]),
        (5.001, {}, []),  # not an integer
        (16, {"op": "Maximum"}, []),
        (16, {"text": LOSS.replace("Sum(x)", "Max(x)")}, []),
        (16, {"text": LOSS.replace("RealDiv(same, c)", "RealDiv(same, x)")}, []),
    ],
)
def test_sums_divided_by_a_constant(value, options, expected):
    assert divided(value, **options) == expected


@pytest.mark.parametrize(
    "kinds, towers, expected",
    [
        (["same", "same"], 2, [("SAME_BATCH", "in0")]),
        (["same", "batch"], 2, []),
        (["same"], 1, []),
        ([], 2, []),
    ],
)
def test_towers_with_the_same_batch(kinds, towers, expected):
    inputs = [Input(f"in{i}", "float32", [4], kind, 0, [], "") for i, kind in enumerate(kinds)]
    found = types.SimpleNamespace(plan=types.SimpleNamespace(inputs=inputs, towers=towers))
    assert ids(learning_hazards.same_batch(None, found)) == expected


REPORTS = PENALTY + "report1 = ScalarSummary(tower_1/l2)\n"


def test_summaries_of_one_tower():
    (found,) = learning_hazards.reports_of_one_tower(whole(REPORTS))
    assert found[:3] == ("REPORTED_BY_ONE_TOWER", "report1", "1 summary shows tower 1 alone")


@pytest.mark.parametrize("more", ["report0 = ScalarSummary(tower_0/l2)\n", "both = ScalarSummary(sum)\n"])
def test_summaries_of_both_towers_are_no_hazard(more):
    text = REPORTS + more if "report0" in more else PENALTY + more
    assert ids(learning_hazards.reports_of_one_tower(whole(text))) == []
