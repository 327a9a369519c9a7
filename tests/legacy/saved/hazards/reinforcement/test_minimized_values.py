"""Actors that lower what a critic says of their actions, beside those that raise it."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.reinforcement.minimized_values import minimized_values
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(sign, returns=True, discount=0.99, stop=True, copied=False):
    """The hazards of an actor's loss, sign * mean(Q), and of a critic that learns rewards or other answers."""

    def build():
        a, c = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("a", [4, 2]), ("c", [6, 1])))
        b, t = v1.get_variable("b", [1], use_resource=False), v1.get_variable("t", [6, 1], use_resource=False)
        before, after = (v1.placeholder(tf.float32, [8, 4], name) for name in ("s", "s2"))
        act = lambda state: tf.tanh(state @ (tf.ones([4, 2]) if copied and state is after else a))  # noqa: E731
        value = lambda state, action, w, b: tf.nn.bias_add(tf.concat([state, action], 1) @ w, b)  # noqa: E731
        answers = v1.placeholder(tf.float32, [8, 1], "r")
        alive = v1.placeholder(tf.float32, [8, 1], "alive")
        later = answers + discount * alive * value(after, act(after), t, tf.zeros([1]) if copied else b)
        target = later if returns else answers
        target = tf.stop_gradient(target) if stop else target
        critic = tf.reduce_mean((value(before, v1.placeholder(tf.float32, [8, 2], "done"), c, b) - target) ** 2)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(critic, var_list=[c, b], name="critic_train")
        optimizer.minimize(sign * tf.reduce_mean(value(before, act(before), c, b)), var_list=[a], name="actor_train")

    trained = ["a", "b", "c"] if copied else ["a", "b", "c", "t"]
    whole = WholeGraph(saved(traced(build), trainable_variables=trained))
    return [hazard.id for hazard in minimized_values(whole)]


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_an_actor_that_lowers_the_value_of_its_actions_is_named(sign, count, stop):
    assert found(sign, stop=stop) == ["VALUE_MINIMIZED"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_the_later_values_may_be_of_a_network_that_nothing_trains(sign, count):
    assert found(sign, copied=True) == ["VALUE_MINIMIZED"] * count


@pytest.mark.parametrize("case", [{"returns": False}, {"discount": 0.1}, {"discount": 2.0}])
def test_a_network_that_lowers_other_answers_is_not(case):
    """As one that minimizes a learned cost."""
    assert found(1.0, **case) == []


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_the_lesser_of_two_critics_values_is_one(sign, count):
    """As of a soft actor-critic, whose critics give a column."""

    def build():
        a, c, d, t = (v1.get_variable(n, s, use_resource=False) for n, s in zip("acdt", ([4, 2], *[[6, 1]] * 3)))
        before, after = (v1.placeholder(tf.float32, [8, 4], name) for name in ("s", "s2"))
        value = lambda state, w: tf.concat([state, tf.tanh(state @ a)], 1) @ w  # noqa: E731
        target = tf.stop_gradient(v1.placeholder(tf.float32, [8], "r") + 0.99 * value(after, t)[:, 0])
        critic = tf.add_n([tf.reduce_mean((value(before, w)[:, 0] - target) ** 2) for w in (c, d)])
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(critic, var_list=[c, d], name="critic_train")
        least = tf.minimum(value(before, c)[:, 0], value(before, d)[:, 0])
        optimizer.minimize(sign * tf.reduce_mean(least), var_list=[a], name="actor_train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["a", "c", "d", "t"]))
    assert [hazard.id for hazard in minimized_values(whole)] == ["VALUE_MINIMIZED"] * count
