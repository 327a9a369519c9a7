"""Random integers of towers, such as labels that a generator is given: `scope.integers`, with the old graph's bits."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.source import source_text
from legacy.source.step.integer_noise import integer_bounds, integers_of_bits, made_up_bits
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, apply, lifted, split_batch, sum_of_squares, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


def program(low=-2, high=3, dtype=tf.int32):
    """Towers whose examples are multiplied by random integers."""

    def build():
        xs = split_batch()

        def loss(tower):
            drawn = tf.random.uniform([BATCH, 1], low() if callable(low) else low, high, dtype=dtype)
            return sum_of_squares(xs[tower] * tf.cast(drawn, tf.float32))

        return apply(tf.add_n(towers(lambda tower: tf.gradients(loss(tower), [weights()])[0])) / 2.0)

    return build


def drawn_in(shape_of):
    """Towers whose examples are multiplied by random integers of the shape `shape_of(examples)`."""
    xs = v1.placeholder(tf.float32, [None, 3], name="x")

    def loss(tower):
        own = tf.split(xs, TOWERS)[tower]
        drawn = tf.random.uniform(shape_of(own), -2, 3, dtype=tf.int32)
        return sum_of_squares(own * tf.cast(drawn, tf.float32))

    return apply(tf.add_n(towers(lambda tower: tf.gradients(loss(tower), [weights()])[0])) / 2.0)


def one_of_a_tower():
    return drawn_in(lambda own: [])


def one_of_each_example():
    return drawn_in(lambda own: tf.stack([tf.shape(own)[0], 1]))


@pytest.mark.parametrize("build, shape", [(one_of_a_tower, "[]"), (one_of_each_example, "[batch_size, 1]")])
def test_integers_of_a_scalar_and_of_sizes_that_the_graph_computes(build, shape, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert f", {shape}, -2, 3)" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_integers_are_drawn_with_the_bits_of_the_old_graph(tmp_path):
    setup = lifted(program(), tmp_path)
    source = source_of(setup, "workload")
    assert "scope.integers(" in source.text and ", [batch_size, 1], -2, 3)" in source.text
    assert "have the old graph's bits" in source.text and callable(source_text)
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


@pytest.mark.parametrize("bounds", ["-2, 4)", "-1, 4)"])
def test_other_bounds_are_seen(bounds, tmp_path):
    setup = lifted(program(), tmp_path)
    other = assert_workload_verified(
        setup, tmp_path, source_of(setup, "workload"), lambda text: text.replace("-2, 3)", bounds)
    )
    assert not other.passed and other.first.stage == "loss"


@pytest.mark.parametrize("build", [program(low=lambda: tf.cast(tf.reduce_max(weights()), tf.int32) - 9)])
def test_bounds_that_the_graph_computes_are_refused(build, tmp_path):
    with pytest.raises(InputError, match="are no int32 within bounds that the graph tells"):
        source_of(lifted(build, tmp_path), "workload")


def test_integers_of_more_bits_are_refused(tmp_path):
    with pytest.raises(InputError, match="are no int32 within bounds that the graph tells"):
        source_of(lifted(program(dtype=tf.int64), tmp_path), "workload")


def test_the_bounds_of_an_op_and_the_integers_of_bits():
    bits = made_up_bits([100], np.random.RandomState(0))
    drawn = integers_of_bits(bits, (-2, 3))
    assert set(drawn.tolist()) == set(range(-2, 3)) and drawn.dtype == np.int32 and callable(integer_bounds)
