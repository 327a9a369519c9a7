"""Signs of the terms of a loss, through sums, means and multiples."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.linear_signs import linear_signs
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def test_signs_follow_sums_means_and_multiples_and_are_0_where_two_ways_differ():
    def build():
        a, b, c, d = (v1.placeholder(tf.float32, [4], name) for name in "abcd")
        total = tf.reduce_mean(a) - 0.5 * tf.reduce_sum(b) - tf.reduce_mean(-2.0 * c) + tf.reduce_sum(tf.square(d))
        tf.identity(total + tf.reduce_sum(a - a * 1.0), name="loss")

    signs = linear_signs(WholeGraph(saved(traced(build))), "loss")
    assert (signs["b"], signs["c"], signs["a"]) == (-1, 1, 0) and "d" not in signs


def test_weights_that_are_set_or_scheduled_keep_the_sign():
    def build():
        a, b, c, d, e = (v1.placeholder(tf.float32, [4], name) for name in "abcde")
        step = v1.get_variable("step", [], trainable=False, use_resource=False)
        trained = v1.get_variable("trained", [], use_resource=False)
        total = v1.placeholder_with_default(0.2, [], "share") * tf.reduce_mean(a)
        total -= tf.sigmoid(0.01 * (step - 500.0)) * tf.reduce_mean(b)
        total += tf.sigmoid(trained) * tf.reduce_mean(c)
        total -= -v1.placeholder_with_default(-1.0, [], "turned") * 2.0 * tf.reduce_mean(d)
        tf.identity(total + (step - 500.0) * tf.reduce_mean(e), name="loss")

    signs = linear_signs(WholeGraph(saved(traced(build), trainable_variables=["trained"])), "loss")
    assert (signs["a"], signs["b"]) == (1, -1) and signs["d"] == -1 and not {"c", "e"} & set(signs)


def test_the_means_of_tf_losses_keep_the_sign_and_other_quotients_do_not():
    def build():
        a, b, c, d, y = (v1.placeholder(tf.float32, [4], name) for name in "abcdy")
        total = v1.losses.compute_weighted_loss(a) - v1.losses.compute_weighted_loss(b)
        total += tf.reduce_sum(c) / tf.reduce_sum(y)
        tf.identity(
            total + tf.reduce_sum(d) / tf.reduce_sum(tf.where(y > 0.0, tf.ones([4]), -tf.ones([4]))), name="loss"
        )

    signs = linear_signs(WholeGraph(saved(traced(build))), "loss")
    assert (signs["a"], signs["b"]) == (1, -1) and not {"c", "d"} & set(signs)


def test_weights_that_steps_give_keep_the_sign():
    """As of the divergence of a variational loss, which counts more from step to step."""

    def build():
        a, b, c = (v1.placeholder(tf.float32, [4], name) for name in "abc")
        counter = v1.get_variable("counter", [], tf.int64, trainable=False, use_resource=False)
        number = v1.get_variable("number", [], trainable=False, use_resource=False)
        share = tf.minimum(1.0, tf.cast(counter, tf.float32) / 1000.0)
        total = share * tf.reduce_mean(a) - share**2 * tf.reduce_mean(b) + number * tf.reduce_mean(c)
        tf.identity(total, name="loss")

    signs = linear_signs(WholeGraph(saved(traced(build))), "loss")
    assert (signs["a"], signs["b"]) == (1, -1) and "c" not in signs


def test_weighted_means_have_the_sign_of_their_values():
    def build():
        a, b, w, other = (v1.placeholder(tf.float32, [4], name) for name in ("a", "b", "w", "other"))
        total = tf.reduce_sum(w * a) / (tf.reduce_sum(w) + 1e-5)
        total -= tf.reduce_sum(b * w) / (tf.reduce_sum(other) + 1e-5)
        tf.identity(total, name="loss")

    signs = linear_signs(WholeGraph(saved(traced(build))), "loss")
    assert signs["a"] == 1 and "b" not in signs
