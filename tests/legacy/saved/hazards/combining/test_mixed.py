"""Gradients that are summed beside averaged ones, in updates that a program writes by hand."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.combining.mixed import mixed_combining
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
RATE = 0.05


def average(gradients):
    return tf.reduce_mean(tf.stack(gradients), 0)


def descend(variable, gradient, rate=RATE):
    return v1.assign_sub(variable, rate * gradient)


def with_velocity(variable, gradient, rate=RATE):
    velocity = v1.get_variable(f"{variable.op.name}/velocity", variable.shape, trainable=False, use_resource=False)
    return v1.assign_add(variable, v1.assign(velocity, 0.9 * velocity - rate * gradient))


def named(of_bias, update=descend, bias_rate=RATE):
    """The hazards of a layer whose kernel's gradients are averaged; `of_bias` combines those of its bias."""

    def build():
        kernel, bias = (v1.get_variable(n, s, use_resource=False) for n, s in (("kernel", [3, 2]), ("bias", [2])))
        towers = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                towers.append(tf.gradients(tf.reduce_mean(tf.nn.softplus(x @ kernel + bias)), [kernel, bias]))
        kernels, biases = (list(own) for own in zip(*towers))
        first, second = update(kernel, average(kernels)), update(bias, of_bias(biases), bias_rate)
        tf.group(first, second, name="train")

    graph = saved(traced(build), trainable_variables=["kernel", "bias"])
    found = analyse_graph(graph, "small", ["train"])
    return [hazard.id for hazard in mixed_combining(WholeGraph(graph, found), found)]


@pytest.mark.parametrize("update", [descend, with_velocity])
@pytest.mark.parametrize(
    "of_bias, names",
    [
        (tf.add_n, ["MIXED_COMBINING"]),
        (average, []),
        (lambda gradients: tf.add_n(gradients) / 2.0, []),
        (lambda gradients: 2.0 * average(gradients), []),  # a constant of the layer's own
    ],
)
def test_a_sum_times_the_rate_is_told_from_a_mean_times_the_rate(of_bias, names, update):
    assert named(of_bias, update) == names


@pytest.mark.parametrize("update", [descend, with_velocity])
def test_another_rate_of_a_mean_makes_no_sum_of_it(update):
    assert named(average, update, bias_rate=2 * RATE) == []


@pytest.mark.parametrize("update", [descend, with_velocity])
@pytest.mark.parametrize("rate", [RATE / 2, RATE / 4, 2 * RATE])
def test_another_rate_may_make_up_for_a_sum(rate, update):
    assert named(tf.add_n, update, bias_rate=rate) == []
