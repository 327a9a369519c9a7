"""Combining of results other than gradients: recognised by numbers, where that holds at any number of towers."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def combined(join, result=lambda x: tf.reduce_mean(x, 0), batch=4):
    """[(kind, scale, divided)] of what two towers' results are, of which `join(results)` is added to a statistic."""

    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        results, gradients = [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [2 * batch, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                results.append(result(tf.exp(x)))
                gradients.append(v1.gradients(tf.reduce_sum(tf.square(x * w)), [w])[0])
        joined = join(results)
        state = v1.get_variable("state", joined.shape, trainable=False, use_resource=False)
        descended = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)])
        v1.group(descended, v1.assign_add(state, joined), name="train")

    plan = analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"]).plan
    found = plan.phases[0].results
    assert bool(found) != bool(plan.phases[0].joined_beside)  # what is not recognised is said
    return [(one.kind, round(one.scale, 6), one.divided) for one in found]


def total(x):
    return tf.reduce_sum(x)


def by_row(x):
    return tf.reduce_sum(x, 1)


@pytest.mark.parametrize(
    "join, result, expected",
    [
        (lambda two: tf.add_n(two), total, ("sum", 1.0, False)),
        (lambda two: tf.add_n(two) / 2.0, total, ("mean", 1.0, False)),
        (lambda two: tf.reduce_mean(tf.stack(two), 0), total, ("mean", 1.0, False)),
        (lambda two: tf.add_n(two) * 0.25, total, None),  # a constant that may be made for the number of towers
        (lambda two: tf.add_n(two) / 2.0 * 0.25, total, ("sum", 0.125, True)),
        (lambda two: tf.add_n(two) / 8.0, total, ("sum", 0.125, True)),  # of all examples
        (lambda two: tf.maximum(*two), total, None),
        (lambda two: two[0] * two[1], total, None),
        (lambda two: tf.reduce_mean(tf.square(tf.concat(two, 0))), by_row, ("concat", 1.0, False)),
        (lambda two: tf.reduce_sum(tf.concat(two, 0)), by_row, ("concat", 1.0, False)),
        (lambda two: tf.reduce_max(tf.concat(two, 0)), by_row, ("concat", 1.0, False)),
        (lambda two: tf.reduce_sum(tf.concat(two, 0)) / 8.0, by_row, None),
        (lambda two: tf.concat(two, 0), by_row, None),
        (lambda two: tf.add_n(two), lambda x: tf.reduce_sum(tf.cast(x > 1.0, tf.int32)), ("sum", 1.0, False)),
    ],
)
def test_means_and_sums_of_other_results_are_recognised(join, result, expected):
    assert combined(lambda two: tf.cast(join(two), tf.float32), result) == ([expected] if expected else [])
