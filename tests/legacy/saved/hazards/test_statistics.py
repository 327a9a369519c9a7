"""Hazards of batch statistics, each with a program that does not have it."""

import types
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards import statistics
from legacy.saved.hazards.search import find_hazards
from legacy.saved.hazards.statistics import statistics_of_other_data
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.plan import Effect, Race, Variable

#: A graph of one tower, which shares no state.
WHOLE = mock.Mock(count=1)

v1 = tf.compat.v1

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
    phase = types.SimpleNamespace(crossings=[["mean0:0", "mean1:0"]], effects=effects, races=races, losses=[])
    variables = [Variable(name, [3], "float32", role) for name, role in zip(("s", "t"), roles)]
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
    assert [found[:3] for found in statistics.statistics_of_towers(WHOLE, analysis(updates))] == expected


@pytest.mark.parametrize("shape, losses, count", [([], [], 0), ([], ["loss:0"], 1), ([3], [], 1), ([], ["mean0:0"], 0)])
def test_a_number_that_no_loss_reads_is_an_average_to_show(shape, losses, count):
    """As the moving average of a tower's loss; a baseline, or a norm's, is read by the loss."""
    made = analysis({"move0": "s"})
    made.cut.graph = graph_of(MEANS + "loss = Sub(mean0, s)\n")
    made.plan.variables[0] = Variable("s", shape, "float32", "statistic")
    made.plan.phases[0].losses = losses
    assert len(list(statistics.statistics_of_towers(WHOLE, made))) == count


@pytest.mark.parametrize("inputs, count", [("mean0, s", 0), ("s, mean0", 1)])
def test_what_is_printed_beside_a_loss_is_not_read_by_it(inputs, count):
    made = analysis({"move0": "s"})
    made.cut.graph = graph_of(MEANS + f"loss = Print({inputs})\n")
    made.plan.variables[0] = Variable("s", [], "float32", "statistic")
    made.plan.phases[0].losses = ["loss:0"]
    assert len(list(statistics.statistics_of_towers(WHOLE, made))) == count


def test_statistics_that_towers_update_in_turn():
    found = analysis({"move0": "s", "move1": "s"})
    (hazard,) = statistics.statistics_of_towers(WHOLE, found)
    assert hazard[:3] == (
        "STATISTICS_RACE",
        "s",
        "1 statistic is updated by several towers one after the other, in no fixed order",
    )


@pytest.mark.parametrize("of_last, single", [(["own1"], []), ([], ["STATISTICS_OF_ONE_TOWER"])])
def test_a_raced_statistic_beside_those_that_each_tower_has_of_its_own(of_last, single):
    """As a moving average with `zero_debias`: each tower's sum is its own, and all of them set the same average."""
    own = {"own0": "t", "own1": "u"}
    updates = {"move0": "s", "move1": "s", **{name: own[name] for name in ("own0", *of_last)}}
    made = analysis(updates)
    made.cut.graph = graph_of(MEANS + "u = VariableV2()\nown0 = Assign(t, mean0)\nown1 = Assign(u, mean1)\n")
    made.plan.variables.append(Variable("u", [3], "float32", "statistic"))
    found = [hazard.id for hazard in statistics.statistics_of_towers(WHOLE, made)]
    assert found == ["STATISTICS_RACE", *single]


def test_statistics_that_control_dependencies_order_do_not_race():
    assert not list(statistics.statistics_of_towers(WHOLE, analysis({"move0": "s", "move1": "s"}, races=False)))


def test_a_counter_that_two_optimizers_raise_is_no_statistic_of_towers():
    assert not list(statistics.statistics_of_towers(WHOLE, analysis({"x0": "s", "x1": "s"})))


def test_statistics_of_one_tower_alone_are_meant():
    assert not list(statistics.statistics_of_towers(WHOLE, analysis({"move0": "s"}, towers=1)))


@pytest.mark.parametrize(
    "towers, roles, races, count",
    [
        ((0, 1), ("statistic",), True, 1),
        ((0, 0), ("statistic",), True, 0),  # one tower's network, run twice
        ((0, 1), ("state",), True, 0),
        ((0, 1), ("statistic",), False, 0),
    ],
)
def test_statistics_of_towers_of_which_one_trains(towers, roles, races, count):
    """As where the gradients of the first tower alone are applied, and the update waits for all towers' statistics."""
    whole = mock.Mock(count=2, graph=graph_of(MEANS), writes={})
    whole.data_towers = lambda name: {towers[int(name[-1])]}
    found = analysis({"move0": "s", "move1": "s"}, towers=1, roles=roles, races=races)
    hazards = list(statistics.statistics_of_towers(whole, found))
    assert [(hazard.id, hazard.op) for hazard in hazards] == [("STATISTICS_RACE", "s")] * count


@pytest.mark.parametrize("decay, count", [(1.0, 0), (0.75, 1)])
def test_statistics_to_which_nothing_is_added_are_not_updated(decay, count):
    """A batch norm that runs as in evaluation has a decay of 1."""
    text = MEANS + "one = Const()\ndecay = Const()\nshare = Sub(one, decay)\nchange = Mul(mean0, share)\n"
    constants = {"one": {"value": np.float32([1])}, "decay": {"value": np.float32([decay])}}
    made = analysis({"move0": "s"})
    made.cut.graph = graph_of(text + "moved = AssignSub(s, change)\n", **constants)
    made.plan.phases[0].effects = [Effect("moved", "AssignSub", ["s"], ["change:0"])]
    assert len(list(statistics.statistics_of_towers(WHOLE, made))) == count


def moved_by(second):
    """The hazards of a step that moves a statistic by its batch, and then by what `second` makes of the variables."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        mean = v1.get_variable("mean", [3], use_resource=False, trainable=False)
        x, held_out = (v1.placeholder(tf.float32, [8, 4], name) for name in ("x", "held_out"))
        moves = []
        for batch in [x, *second(x, held_out)]:
            moves.append(v1.assign_sub(mean, (mean - tf.reduce_mean(batch @ w, 0)) * 0.1))
        loss = tf.reduce_mean(tf.square(x @ w))
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w])
        tf.group(update, *moves, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard.id for hazard in statistics_of_other_data(whole)]


def test_statistics_that_batches_of_no_loss_move_besides_are_named():
    assert moved_by(lambda x, held_out: [held_out]) == ["STATISTICS_OF_OTHER_DATA"]


@pytest.mark.parametrize(
    "second", [lambda x, held_out: [], lambda x, held_out: [x], lambda x, held_out: [x + held_out]]
)
def test_statistics_of_the_batch_alone_are_not(second):
    assert moved_by(second) == []


def without_analysis(move, towers=2):
    """[(hazard, description)] of a program whose updates of two statistics `move` makes of the towers' moments."""

    def build():
        w, moments, losses = v1.get_variable("w", [4, 3], use_resource=False), [], []
        for tower in range(towers):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                h = v1.placeholder(tf.float32, [8, 4], "x") @ w
                moments.append(tf.reduce_mean(h, 0))
                losses.append(tf.reduce_mean(tf.square(h)))
        gradients = [v1.gradients(loss, [w], colocate_gradients_with_ops=True)[0] for loss in losses]
        update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / towers, w)])
        kept = [v1.get_variable(name, [3], use_resource=False, trainable=False) for name in ("mean", "other")]
        tf.group(update, *move(kept, moments, gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return [(row["hazard"], row["what"]) for row in find_hazards(graph) if row["hazard"].startswith("STATISTICS")]


def moved(variable, value, share=0.1):
    return v1.assign_sub(variable, (variable - value) * share)


@pytest.mark.parametrize("tower, word", [(0, "first"), (-1, "last")])
@pytest.mark.parametrize("towers", [2, 3])
def test_statistics_of_one_tower_are_named_without_an_analysis(tower, word, towers):
    found = without_analysis(lambda kept, moments, _: [moved(one, moments[tower]) for one in kept], towers)
    assert found == [("STATISTICS_OF_ONE_TOWER", f"2 statistics are updated by the {word} tower only")]


@pytest.mark.parametrize(
    "move",
    [
        lambda kept, moments, _: [],
        lambda kept, moments, _: [moved(kept[0], tf.add_n(moments) / 2.0)],
        lambda kept, moments, _: [moved(kept[0], moments[0]), moved(kept[0], moments[1])],
        lambda kept, moments, _: [moved(kept[0], moments[0]), moved(kept[1], moments[1])],  # each has its own
        lambda kept, moments, _: [moved(kept[0], moments[1], 0.0)],
        lambda kept, moments, _: [v1.assign(kept[0], moments[1])],  # carried state
        lambda kept, moments, gradients: [moved(kept[0], tf.reduce_mean(gradients[1], 0))],
    ],
)
def test_other_updates_are_not_named_without_an_analysis(move):
    assert without_analysis(move) == []
