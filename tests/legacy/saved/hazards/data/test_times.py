"""Sequences that are split along the time, beside those split along the examples and loops over examples."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.times import split_along_time
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(axis, recurrent=True):
    def build():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [4, 6, 3], "x"), 2, axis)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                rows = int(parts[tower].shape[1])
                if recurrent:
                    step = lambda state, x: tf.tanh(tf.matmul(state + x, w))  # noqa: E731
                    outputs = v1.scan(step, parts[tower], initializer=tf.zeros([rows, 3]))
                else:
                    outputs = v1.map_fn(lambda x: tf.matmul(x, w), parts[tower])
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(outputs)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test")
    return list(split_along_time(WholeGraph(graph, analysis), analysis))


def test_a_split_of_the_dimension_that_a_recurrent_loop_takes_is_named():
    (hazard,) = found(axis=0)
    assert hazard.id == "SPLIT_ALONG_TIME" and "splits x along its first dimension" in hazard.description


@pytest.mark.parametrize("axis, recurrent", [(1, True), (0, False)])
def test_a_split_of_the_examples_is_not(axis, recurrent):
    assert found(axis, recurrent) == []
