"""Targets through which the gradient flows, beside those behind stop_gradient or of weights that are not trained."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.reinforcement.targets import differentiated_targets
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def found(stop=False, own=True, trained=True, mask=""):
    def build():
        w, other = (v1.get_variable(name, [4, 3], use_resource=False) for name in ("w", "other"))
        before, after = v1.placeholder(tf.float32, [8, 4], "s"), v1.placeholder(tf.float32, [8, 4], "s2")
        reward, action = v1.placeholder(tf.float32, [8], "r"), v1.placeholder(tf.int32, [8], "a")
        value = tf.reduce_sum((before @ w) * tf.one_hot(action, 3), 1)
        best = tf.reduce_max(after @ (w if own else other), 1, name="best")
        alive = v1.placeholder(tf.float32, [8], "alive")
        later = {"": 0.99 * best, "first": 0.99 * (alive * best), "with the discount": (0.99 * alive) * best}[mask]
        target = reward + later
        target = tf.stop_gradient(target) if stop else target
        loss = tf.reduce_mean(tf.square(value - target))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train", var_list=[w] if not trained else [w, other])

    names = ["w", "other"]
    return list(differentiated_targets(WholeGraph(saved(traced(build), trainable_variables=names))))


@pytest.mark.parametrize("mask", ["", "first", "with the discount"])
def test_a_target_that_the_gradient_passes_is_named(mask):
    (hazard,) = found(mask=mask)
    assert hazard[:2] == ("TARGET_DIFFERENTIATED", "best")


def test_a_target_of_another_network_that_is_trained_by_it_is_named():
    (hazard,) = found(own=False)
    assert hazard[:2] == ("TARGET_DIFFERENTIATED", "best") and "another network, whose weights are trained" in hazard[2]


@pytest.mark.parametrize("case", [{"stop": True}, {"own": False, "stop": True}, {"own": False, "trained": False}])
def test_a_target_behind_stop_gradient_or_of_a_network_that_is_not_trained_is_not(case):
    assert found(**case) == []


@pytest.mark.parametrize("network, stop, count", [("online", False, 1), ("online", True, 0), ("target", False, 1)])
def test_the_value_of_the_best_action_of_another_choice_is_one_as_well(network, stop, count):
    """Double Q-learning: the online network chooses the action, and the target network says its value."""

    def total():
        weights = {name: minimized.variable(name, 4, 3) for name in ("online", "target")}
        after, action = minimized.fed("s2", 8, 4), minimized.fed("a", 8, dtype=tf.int32)
        best = tf.one_hot(tf.argmax(after @ weights["online"], 1), 3)
        later = tf.reduce_sum((after @ weights[network]) * best, 1)
        target = minimized.fed("r", 8) + 0.99 * (1.0 - minimized.fed("done", 8)) * later
        value = tf.reduce_sum((minimized.fed("s", 8, 4) @ weights["online"]) * tf.one_hot(action, 3), 1)
        return tf.reduce_mean(tf.square(value - (tf.stop_gradient(target) if stop else target)))

    assert minimized.found(differentiated_targets, total) == ["TARGET_DIFFERENTIATED"] * count


@pytest.mark.parametrize("stop, own, count", [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_the_value_of_the_next_state_is_one_as_well(stop, own, count):
    def total():
        layer, head, other = (minimized.variable(name, 4, size) for name, size in (("w", 4), ("v", 1), ("u", 1)))
        now = tf.squeeze(tf.nn.relu(minimized.fed("s", 8, 4) @ layer) @ head, 1)
        later = tf.squeeze(tf.nn.relu(minimized.fed("s2", 8, 4) @ layer) @ (head if own else other), 1)
        target = minimized.fed("r", 8) + 0.9 * later * (1.0 - minimized.fed("done", 8))
        return tf.reduce_mean(tf.square((tf.stop_gradient(target) if stop else target) - now))

    assert minimized.found(differentiated_targets, total) == ["TARGET_DIFFERENTIATED"] * count
