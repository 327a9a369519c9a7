"""Towers that each update the shared weights by themselves, in a race: lifts and old graph keep to one order."""

import pytest
import tensorflow as tf

from tests.legacy.variants.programs import (
    BATCH,
    TOWERS,
    apply,
    assert_same,
    lifted,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)

v1 = tf.compat.v1


def by_themselves(make_loss):
    """A train op of towers that each apply the gradient of their own loss."""

    def build():
        xs = split_batch()
        return v1.group(*towers(lambda tower: apply(tf.gradients(make_loss(xs[tower]), [weights()])[0])))

    return build


def through(view):
    """A loss that takes the weights by way of a view of their memory, and uses them twice, some time apart."""

    def make_loss(x):
        seen = view(weights())
        hidden = tf.reshape(tf.matmul(x, tf.reshape(seen, [3, 2])), [BATCH * 2])
        for _ in range(3):
            hidden = tf.tanh(hidden)
        return tf.reduce_sum(hidden) * tf.reduce_sum(tf.square(seen))

    return make_loss


def looped(x):
    """A loss of a loop that a view of the weights enters."""
    seen = tf.reshape(tf.transpose(weights(), [0, 1]), [3, 2])
    start = tf.zeros([BATCH, 2])
    _, last = tf.while_loop(lambda i, _: i < 4, lambda i, h: (i + 1, tf.tanh(h + tf.matmul(x, seen))), [0, start])
    return tf.reduce_sum(last)


VIEWS = {
    "none": tf.identity,
    "transpose to itself": lambda w: tf.transpose(w, [0, 1]),
    "slice of all": lambda w: w[:],
    "sum over no axis": lambda w: tf.reduce_sum(w, axis=[]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_no_tower_sees_the_others_update_in_a_view_of_the_weights(view, tmp_path):
    setup = lifted(by_themselves(through(VIEWS[view])), tmp_path)
    assert setup.job.workload.plan.towers == TOWERS and setup.job.workload.plan.phases[0].races
    assert_same(setup)


def penalized(x):
    """A loss of data with a penalty, whose gradient takes the weights and no data."""
    return sum_of_squares(x) + 0.1 * tf.nn.l2_loss(weights())


@pytest.mark.parametrize("make_loss", [sum_of_squares, looped, penalized])
def test_towers_that_update_by_themselves(make_loss, tmp_path):
    v1.disable_control_flow_v2()
    setup = lifted(by_themselves(make_loss), tmp_path)
    assert setup.job.workload.plan.towers == TOWERS and setup.job.workload.plan.phases[0].races
    assert_same(setup)
