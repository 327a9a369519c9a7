"""Standalone programs that count their steps by themselves, where the old program has no count for all train ops."""

import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, mean_of, split_batch, sum_of_squares, towers, weights

v1 = tf.compat.v1


def in_turn(counter):
    """Two train ops, of which one has a learning rate by the count of its own steps, a variable `counter`."""

    def build():
        xs = split_batch()
        count = v1.get_variable(counter, [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)
        rate = v1.train.exponential_decay(0.125, count, 2, 0.5, staircase=True)
        other = v1.get_variable("v", [3, 2], initializer=v1.ones_initializer(), use_resource=False)
        mean_of(towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0]))
        parts = towers(lambda i: tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(xs[i], other)) ** 2), [other])[0])
        mean = tf.add_n(parts) / TOWERS
        return v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, other)], count, "other")

    return build


def test_a_count_of_its_own_is_no_variable_of_the_old_program(tmp_path):
    setup = lifted(in_turn("step"), tmp_path, train_op=["GradientDescent", "other"])
    source = source_of(setup)
    assert 'STEP = "step_2"' in source.text
    assert_trains_alike(setup, tmp_path, source, steps=6)


def test_its_name_is_short_where_the_old_program_leaves_it_free(tmp_path):
    setup = lifted(in_turn("others"), tmp_path, train_op=["GradientDescent", "other"])
    source = source_of(setup)
    assert 'STEP = "step"' in source.text
    assert_trains_alike(setup, tmp_path, source, steps=6)
