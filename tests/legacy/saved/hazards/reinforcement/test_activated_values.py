"""Values of actions and states that a ReLU makes, beside those of a layer without an activation."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.reinforcement.activated_values import activated_values
from tests.legacy.saved.hazards.minimized import fed, found, minimizing, variable

v1 = tf.compat.v1


def values(name, state, activation):
    hidden = tf.nn.relu(state @ variable(f"{name}_hidden", 4, 6))
    return activation(tf.nn.bias_add(hidden @ variable(f"{name}_out", 6, 3), variable(f"{name}_bias", 3)))


def later_values(activation):
    """The largest values of the next states, of a network that nothing trains."""
    weights = v1.get_variable("old", [4, 3], use_resource=False, trainable=False)
    return tf.reduce_max(activation(fed("s2", 8, 4) @ weights), 1)


def of_actions(activation, target=None):
    """A loss of Q-learning, of values that an activation makes."""

    def loss():
        chosen = tf.reduce_sum(values("q", fed("s", 8, 4), activation) * tf.one_hot(fed("a", 8, dtype=tf.int32), 3), 1)
        alive = 1.0 - tf.cast(fed("ends", 8, dtype=tf.bool), tf.float32)
        fitted = fed("r", 8) + alive * 0.99 * later_values(activation) if target is None else target()
        return tf.reduce_mean(tf.square(chosen - tf.stop_gradient(fitted)))

    return loss


def of_states(activation):
    """A loss of a state's value by the difference to the next one's."""

    def loss():
        value = tf.reduce_sum(values("v", fed("s", 8, 4), tf.identity), 1)
        fitted = tf.stop_gradient(fed("r", 8) + 0.99 * later_values(tf.identity))
        return tf.reduce_mean(tf.math.squared_difference(fitted, activation(value)))

    return loss


@pytest.mark.parametrize("make_loss", [of_actions, of_states])
@pytest.mark.parametrize("activation, count", [(tf.nn.relu, 1), (tf.nn.relu6, 1), (tf.identity, 0), (tf.tanh, 0)])
def test_values_that_a_relu_makes_are_named(make_loss, activation, count):
    assert found(activated_values, make_loss(activation)) == ["VALUES_ACTIVATED"] * count


def test_the_description_says_which():
    (hazard,) = activated_values(WholeGraph(minimizing(of_actions(tf.nn.relu))))
    assert "(Relu) gives with rewards plus discounted values: no value is below zero" in hazard.description


def test_values_of_a_dueling_network_are_a_sum():
    """The value of the state and the advantages of its actions, each behind a hidden layer."""

    def dueling(layer):
        return tf.nn.relu(layer) - tf.reduce_mean(layer, 1, keepdims=True)

    assert found(activated_values, of_actions(dueling)) == []


def test_other_results_of_a_relu_are_not():
    """As of sizes, which are fed, and of targets that do not add a value to a reward."""
    assert found(activated_values, of_actions(tf.nn.relu, lambda: fed("size", 8))) == []
    assert found(activated_values, of_actions(tf.nn.relu, lambda: fed("r", 8) + fed("size", 8))) == []
