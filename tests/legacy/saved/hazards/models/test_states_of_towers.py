"""Towers that begin with another's state, beside layers on several devices and towers of their own."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.states_of_towers import states_of_all_towers, states_of_other_towers
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(carries, one_loss=False):
    def build():
        w, u = (v1.get_variable(name, [4, 4], use_resource=False) for name in "wu")
        parts = tf.split(v1.placeholder(tf.float32, [4, 3, 4], "x"), 2)
        state, losses, gradients = tf.zeros([2, 4]), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                own = state if carries else tf.zeros([2, 4])
                for time in range(3):
                    own = tf.tanh(parts[tower][:, time] @ w + own @ u)
                state = own
                losses.append(tf.reduce_mean(tf.square(own)))
                gradients.append(tf.gradients(losses[-1], [w, u]))
        if one_loss:
            gradients = [tf.gradients(losses[0] + losses[1], [w, u])]
        means = [tf.add_n(list(each)) / len(each) for each in zip(*gradients)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(means, [w, u]), name="train")

    graph = saved(traced(build), trainable_variables=["w", "u"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in states_of_other_towers(WholeGraph(graph, analysis), analysis)]


@pytest.mark.parametrize("carries, one_loss, count", [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_a_state_that_goes_from_tower_to_tower_is_named(carries, one_loss, count):
    assert found(carries, one_loss) == ["STATE_OF_ANOTHER_TOWER"] * count


def test_towers_that_exchange_moments_leave_each_other_no_state():
    """As where the first device computes the moments of all towers' examples."""

    def build():
        w, u = (v1.get_variable(name, [4, 4], use_resource=False) for name in "wu")
        layers, losses, gradients = [], [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"):
                layers.append(x @ w)
        with tf.device("/gpu:0"):
            center = tf.reduce_mean(tf.stack([tf.reduce_mean(layer, 0) for layer in layers]), 0)
        for tower, layer in enumerate(layers):
            with tf.device(f"/gpu:{tower}"):
                losses.append(tf.reduce_mean(tf.square(tf.tanh((layer - center) @ u))))
                gradients.append(tf.gradients(losses[-1], [w, u]))
        means = [tf.add_n(list(each)) / len(each) for each in zip(*gradients)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(means, [w, u]), name="train")

    graph = saved(traced(build), trainable_variables=["w", "u"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    assert list(states_of_other_towers(WholeGraph(graph, analysis), analysis)) == []


@pytest.mark.parametrize("evaluates", [True, False])
def test_a_statistic_that_the_branch_of_evaluation_alone_reads_is_no_state(evaluates):
    def build():
        w = v1.get_variable("w", [4, 4], use_resource=False)
        state = v1.get_variable("state", [4, 4], trainable=False, use_resource=False)
        training, gradients, sets = v1.placeholder(tf.bool, [], "is_training"), [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                y = x @ w
                branches = [lambda y=y: tf.tanh(y), lambda y=y: tf.tanh(y + state)]
                y = v1.cond(training, *(branches if evaluates else reversed(branches)))
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(y)), [w])[0])
                sets.append(v1.assign(state, y))
        update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)])
        tf.group(update, *sets, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    hazards = list(states_of_all_towers(WholeGraph(graph, found)))
    assert [hazard.id for hazard in hazards] == ([] if evaluates else ["STATE_OF_ALL_TOWERS"])


@pytest.mark.parametrize(
    "shared, share, count",
    [(True, 0.0, 1), (False, 0.0, 0), (True, 0.5, 0), (True, "by the step", 0), (True, "by the examples", 1)],
)
def test_a_state_that_all_towers_set_is_named(shared, share, count):
    def build():
        w = v1.get_variable("w", [4, 4], use_resource=False)
        step = v1.get_variable("step", [], use_resource=False, trainable=False)
        gradients, sets = [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), v1.variable_scope("", reuse=shared and tower > 0):
                name = "state" if shared else f"state_{tower}"
                state = v1.get_variable(name, [4, 4], trainable=False, use_resource=False)
                with v1.name_scope(f"tower_{tower}"):
                    y = tf.tanh(x @ w + state)
                    gradients.append(tf.gradients(tf.reduce_mean(tf.square(y)), [w])[0])
                    kept = {"by the step": step / (step + 9.0), "by the examples": tf.sigmoid(y)}.get(share, share)
                    sets.append(v1.assign(state, y if kept is share and not share else kept * state + (1.0 - kept) * y))
        update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)])
        tf.group(update, *sets, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    hazards = list(states_of_all_towers(WholeGraph(graph, found)))
    assert [hazard.id for hazard in hazards] == ["STATE_OF_ALL_TOWERS"] * count
