"""Triplet losses whose networks share their weights, or do not."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.networks.compared_networks import networks_that_are_compared
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def net(x, scope=""):
    """Two layers; those of one scope share their weights."""
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        return tf.nn.relu(x @ variable(f"hidden{scope}/w", 4, 5)) @ variable(f"out{scope}/w", 5, 3)


def distance(a, b):
    return tf.reduce_sum(tf.square(a - b), 1)


def results(*scopes):
    """Results of the anchor, the positive and the negative examples, by networks of some scopes."""
    return [net(fed(name, 8, 4), scope) for name, scope in zip(("anchor", "same", "other"), scopes)]


def hinge(anchor, same, other):
    return tf.reduce_mean(tf.maximum(distance(anchor, same) - distance(anchor, other) + 0.2, 0.0))


def logistic(anchor, same, other):
    scores = tf.reduce_sum(anchor * same, 1) - tf.reduce_sum(anchor * other, 1)
    return -tf.reduce_mean(tf.math.log(tf.sigmoid(scores)))


def smooth(anchor, same, other):
    return tf.reduce_mean(tf.nn.softplus(distance(anchor, same) - distance(anchor, other)))


@pytest.mark.parametrize("loss", [hinge, logistic, smooth])
@pytest.mark.parametrize("scopes", [("", "_1", "_2"), ("", "", "_1")])
def test_networks_of_their_own_are_named(loss, scopes):
    assert found(networks_that_are_compared, lambda: loss(*results(*scopes))) == ["COMPARED_BY_OTHER_NETWORKS"]


@pytest.mark.parametrize("loss", [hinge, logistic, smooth])
@pytest.mark.parametrize("scopes", [("", "", ""), ("_query", "", ""), ("", "_photo", "_sketch")])
def test_shared_networks_are_not_nor_those_of_two_kinds(loss, scopes):
    assert found(networks_that_are_compared, lambda: loss(*results(*scopes))) == []


def test_a_choice_between_two_things_has_weights_for_each():
    """Their scores have no result in common, as of a trip by car or by train."""

    def loss():
        first, second = net(fed("car", 8, 4)), net(fed("train", 8, 4), "_1")
        return -tf.reduce_mean(tf.math.log(tf.sigmoid(tf.reduce_sum(first, 1) - tf.reduce_sum(second, 1))))

    assert found(networks_that_are_compared, loss) == []


def test_two_that_are_compared_with_each_other_may_have_their_own():
    def loss():
        one, other, _ = results("", "_1", "")
        far, label = tf.maximum(1.0 - tf.sqrt(distance(one, other) + 1e-6), 0.0), fed("label", 8)
        return tf.reduce_mean(label * distance(one, other) + (1.0 - label) * tf.square(far))

    assert found(networks_that_are_compared, loss) == []


def test_two_networks_of_the_same_examples_are_an_ensemble():
    def loss():
        anchor, x = net(fed("anchor", 8, 4), "_a"), fed("x", 8, 4)
        return hinge(anchor, net(x), net(x, "_1"))

    assert found(networks_that_are_compared, loss) == []


def test_a_frozen_copy_is_not():
    def loss():
        anchor, same, _ = results("", "", "")
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            old = v1.get_variable("hidden_1/w", [4, 5], trainable=False, use_resource=False)
        other = tf.nn.relu(fed("z", 8, 4) @ old) @ variable("out_1/w", 5, 3)
        return hinge(anchor, same, other)

    assert found(networks_that_are_compared, loss) == []
