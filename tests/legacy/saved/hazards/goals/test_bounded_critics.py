"""Wasserstein critics with and without a sigmoid of their last layer."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.goals.bounded_critics import bounded_critics, critics_without_bound
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def critic(last, compare, clips=True, penalizes=False):
    def loss():
        weight = minimized.variable("d", 4, 1)
        fake = minimized.fed("z", 8, 3) @ minimized.variable("g", 3, 4)
        if clips:
            v1.assign(weight, tf.clip_by_value(weight, -0.01, 0.01), name="clip")
        real = minimized.fed("x", 8, 4)
        result = last(real @ weight)
        penalty = tf.reduce_mean(tf.square(tf.gradients(result, real)[0])) if penalizes else 0.0
        return compare(result, last(fake @ weight)) + penalty

    return loss


def distance(real, fake):
    return tf.reduce_mean(fake) - tf.reduce_mean(real)


@pytest.mark.parametrize(
    "last, compare, count",
    [
        (tf.sigmoid, distance, 1),
        (tf.tanh, distance, 1),
        (tf.identity, distance, 0),
        (tf.sigmoid, lambda real, fake: tf.reduce_mean(tf.square(real - 1.0) + tf.square(fake)), 0),
        (tf.sigmoid, lambda real, fake: -tf.reduce_mean(tf.math.log(real + 1e-8) + tf.math.log(1 - fake + 1e-8)), 0),
    ],
)
def test_a_critic_that_ends_in_a_sigmoid_is_named(last, compare, count):
    assert minimized.found(bounded_critics, critic(last, compare)) == ["CRITIC_BOUNDED"] * count


@pytest.mark.parametrize("clips, penalizes, count", [(False, False, 0), (False, True, 1)])
def test_a_difference_of_bounded_means_is_a_distance_of_its_own(clips, penalizes, count):
    """That of total variation, where nothing tells that the critic is to have bounded derivatives."""
    loss = critic(tf.sigmoid, distance, clips, penalizes)
    assert minimized.found(bounded_critics, loss) == ["CRITIC_BOUNDED"] * count


def penalized(real, fake):
    return distance(real, fake) + 1e-3 * tf.reduce_mean(tf.square(real))


@pytest.mark.parametrize(
    "clips, compare, trained, count",
    [
        (False, distance, ["d"], 1),
        (True, distance, ["d"], 0),
        (False, penalized, ["d"], 0),
        (False, distance, ["g"], 0),  # a generator that meets the mean of real examples
        (False, lambda real, fake: tf.reduce_mean(tf.tanh(fake)) - tf.reduce_mean(tf.tanh(real)), ["d"], 0),
    ],
)
def test_a_critic_whose_weights_nothing_bounds_is_named(clips, compare, trained, count):
    def build():
        loss = critic(tf.identity, compare, clips)()
        variables = [one for one in v1.trainable_variables() if one.op.name in trained]
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=variables, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["d", "g"]))
    assert [hazard.id for hazard in critics_without_bound(whole)] == ["LOSS_WITHOUT_BOUND"] * count


def test_a_critic_whose_weights_are_fed_may_be_clipped_by_the_program():
    def build():
        loss = critic(tf.identity, distance, False)()
        weight = v1.trainable_variables()[0]
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[weight], name="train")
        v1.assign(weight, minimized.fed("clipped", 4, 1))

    assert not list(critics_without_bound(WholeGraph(saved(traced(build), trainable_variables=["d", "g"]))))
