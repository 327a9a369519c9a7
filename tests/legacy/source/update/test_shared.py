"""Results of all towers that an update takes the mean, the sum or all rows of: at any number of replicas."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted, setup_of

v1 = tf.compat.v1


def updating(update):
    """Returns a function that makes two towers, whose train op is what `update` makes of their results.

    These are, of each tower, a sum over its examples, the mean of each feature, the sign of each example, and the
    gradient of the sum.
    """

    def build():
        rows = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
        results = []
        for tower, x in enumerate(rows):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=tower > 0):
                w = v1.get_variable("w", [3], initializer=v1.ones_initializer(), use_resource=False)
                loss = tf.reduce_sum(tf.square(tf.tanh(x) * w))
                results.append((loss, tf.reduce_mean(x, 0), tf.sign(x[:, 0]), tf.gradients(loss, [w])[0]))
        return v1.group(*update(*zip(*results), w), name="train")

    return build


def statistic(name, shape=()):
    return v1.get_variable(name, shape, initializer=v1.zeros_initializer(), trainable=False, use_resource=False)


def descend(gradient, w):
    return v1.train.GradientDescentOptimizer(0.125).apply_gradients([(gradient, w)])


def moves_averages(sums, moments, signs, gradients, w):
    loss, mean = statistic("loss"), statistic("mean", [3])
    yield descend(tf.add_n(gradients) / 2.0, w)
    yield v1.assign(loss, 0.5 * loss + 0.5 * tf.reduce_mean(tf.stack(sums)))
    yield v1.assign_sub(mean, 0.25 * (mean - tf.add_n(moments) / 2.0))


def divides_by_sum(sums, moments, signs, gradients, w):
    yield descend(tf.add_n(gradients) / tf.add_n([tf.reduce_sum(tf.abs(one)) for one in signs]), w)


def counts_a_multiple(sums, moments, signs, gradients, w):
    seen = statistic("seen", [3])
    yield descend(tf.add_n(gradients), w)
    yield v1.assign_add(seen, 0.25 * tf.add_n(moments) / 2.0)


def averages_twice(sums, moments, signs, gradients, w):
    slow, fast, total = (statistic(name, [3]) for name in ("slow", "fast", "total"))
    yield descend(tf.add_n(gradients) / 2.0, w)
    yield v1.assign_sub(slow, 0.25 * (slow - tf.add_n(moments) / 2.0))
    yield v1.assign_sub(fast, 0.5 * (fast - tf.reduce_mean(tf.stack(moments), 0)))
    yield v1.assign_add(total, tf.add_n(moments))


def averages_rows(sums, moments, signs, gradients, w):
    share = statistic("share")
    yield descend(tf.add_n(gradients), w)
    yield v1.assign(share, tf.reduce_mean(tf.square(tf.concat(signs, 0))))


def takes_largest(sums, moments, signs, gradients, w):
    yield descend(tf.add_n(gradients) / tf.maximum(*sums), w)


@pytest.mark.parametrize(
    "update, line",
    [
        (moves_averages, "part, mean_loss = context.all_reduce(tf.distribute.ReduceOp.MEAN, [part, loss])"),
        (divides_by_sum, "part = context.all_reduce(tf.distribute.ReduceOp.SUM, part)"),
        (counts_a_multiple, "part = context.all_reduce(tf.distribute.ReduceOp.MEAN, part)"),
        (averages_twice, "mean_of_part = context.all_reduce(tf.distribute.ReduceOp.MEAN, part)"),
        (averages_rows, "part = tf.concat(gather(context, part), axis=0)"),
    ],
)
def test_results_that_an_update_combines_are_reduced_over_any_number_of_replicas(update, line, tmp_path):
    setup = lifted(updating(update), tmp_path)
    source = source_of(setup, "workload")
    assert line in source.text and "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    if "MEAN" in line:
        wrong = line.replace("MEAN", "SUM")
        assert not assert_port_verified(
            setup, tmp_path, source, 4, changed=lambda text: text.replace(line, wrong)
        ).passed


def test_another_function_of_all_results_is_for_the_towers_number(tmp_path):
    source = source_of(lifted(updating(takes_largest), tmp_path), "workload")
    assert "parts = gather(context, part)" in source.text or "losses = gather(context, loss)" in source.text
    assert "replicas: int = 2" in source.text


def keeps_largest(sums, moments, signs, gradients, w):
    largest = statistic("largest")
    yield descend(tf.add_n(gradients), w)
    yield v1.assign(largest, tf.maximum(largest, tf.maximum(*sums)))


def test_a_statistic_that_is_not_right_at_another_number_is_told(tmp_path):
    setup = dataclasses.replace(lifted(updating(keeps_largest), tmp_path), replicated=True)
    told = []
    for replicas in (2, 4):
        job = dataclasses.replace(setup.job, replicas=replicas, global_batch=4 * replicas)
        with dataclasses.replace(setup, job=job).legacy_program() as program:
            told.append(program.describe().get("set from the first and the last replica's results"))
    assert told == [None, "largest"]


@pytest.mark.parametrize("side", ["legacy_program", "modern_program"])
def test_all_replicas_results_count(side, tmp_path):
    """The old graph at four replicas, and the port, add up and average what all four compute, by numpy alone."""
    lifted(updating(moves_averages), tmp_path)
    setup = dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=4), replicated=True)
    shards = [shard["x"].astype(np.float64) for shard in setup.make_source(setup.job, {}).shards(0)]
    with getattr(setup, side)() as program:
        state = program.step().state
    assert len(shards) == 4
    sums = [np.square(np.tanh(x)).sum() for x in shards]
    np.testing.assert_allclose(state.statistics["loss"], 0.5 * np.mean(sums), rtol=1e-5)
    np.testing.assert_allclose(state.statistics["mean"], 0.25 * np.mean(shards, (0, 1)), rtol=1e-5, atol=1e-6)
