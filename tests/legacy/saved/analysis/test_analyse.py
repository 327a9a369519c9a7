"""The plan of a small program of two towers, and of the train ops in it."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.programs import saved_two_towers
from workloads.lifted.plan import Race
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def plan():
    return analyse_graph(saved_two_towers(), "small").plan


def test_the_towers_and_their_inputs(plan):
    assert (plan.name, plan.towers, plan.batch) == ("small", 2, 4)
    assert [(entry.name, entry.kind, entry.tensors) for entry in plan.inputs] == [("x0", "batch", ["x0:0", "x1:0"])]
    assert [noise.nodes for noise in plan.noise] == [["tower_0/noise/RandomUniform", "tower_1/noise/RandomUniform"]]
    assert plan.differences == [] and plan.settings == {} and plan.unsafe == {}


def test_the_roles_of_the_variables(plan):
    roles = {variable.name: (variable.role, variable.of) for variable in plan.variables}
    assert roles == {
        "w": ("weight", ""),
        "w/ExponentialMovingAverage": ("average", "w"),
        "seen": ("statistic", ""),
    }


def test_the_gradients_are_averaged_behind_the_towers(plan):
    (phase,) = plan.phases
    (combine,) = phase.combine
    assert (combine.weight, combine.kind, combine.tensor) == ("w", "mean", "mean:0")
    assert [list(tower) for tower in phase.gradients] == [["w"], ["w"]]
    assert phase.losses == ["tower_0/sum:0", "tower_1/sum:0"] and phase.loss_scale == 1.0 and not phase.shared_loss


def test_the_first_towers_loss_leaves_it_alone(plan):
    (phase,) = plan.phases
    assert ["tower_0/sum:0", None] in phase.crossings
    assert phase.state_crossings == {} and phase.twins == {}


def test_the_average_races_with_the_update_and_other_orders_are_kept(plan):
    (phase,) = plan.phases
    (read,) = phase.versions
    assert (read.variable, read.version) == ("w", 1)
    (update,) = [effect.node for effect in phase.effects if effect.op == "ApplyGradientDescent"]
    assert Race("w", update, read.node, reader=read.node) in phase.races
    assert (update, read.node) in phase.control_dependencies
    assert (read.node, update) in phase.other_control_dependencies[0], "the early order"
    assert {effect.writes[0] for effect in phase.effects} == {"w", "w/ExponentialMovingAverage", "seen"}


def test_a_carried_placeholder_is_a_variable_of_the_plan():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        state = v1.placeholder(tf.float32, [2], "state")
        x = v1.placeholder(tf.float32, [2], "x")
        new = tf.tanh(x + state, name="new")
        loss = tf.reduce_sum(new * w)
        tf.group(v1.train.GradientDescentOptimizer(0.5).minimize(loss), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    plan = analyse_graph(graph, "carried", carry={"state": "new:0"}).plan
    assert {variable.name: variable.role for variable in plan.variables} == {"w": "weight", "state": "state"}
    assert [entry.name for entry in plan.inputs] == ["x"]
    assert plan.phases[0].train_op == "train_and_carry"
    assert plan.phases[0].state_crossings == {"new:0": "state/carry"}
    without = analyse_graph(graph, "fed").plan
    assert sorted(entry.name for entry in without.inputs) == ["state", "x"]


def test_a_setting_that_is_fed_is_a_constant_of_the_plan():
    def build():
        w = v1.get_variable("w", initializer=[1.0], use_resource=False)
        rate = v1.placeholder(tf.float32, [], "rate")
        x = v1.placeholder(tf.float32, [3], "x")
        tf.group(v1.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(x * w)), name="train")

    plan = analyse_graph(saved(traced(build)), "set", feed={"rate": "0.5"}).plan
    assert plan.settings == {"rate": 0.5} and plan.common == []


def test_a_graph_that_trains_nothing_is_refused():
    graph = saved(traced(lambda: tf.square(v1.placeholder(tf.float32, [2], "x"))))
    with pytest.raises(InputError, match="no update op"):
        analyse_graph(graph, "forward")
