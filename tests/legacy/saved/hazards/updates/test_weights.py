"""Weights that begin with zeros, are drawn anew, or have 16 bits, each beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates import weights
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def variable(name, shape, zero=False, dtype=tf.float32):
    first = v1.zeros_initializer() if zero else v1.truncated_normal_initializer(stddev=0.1)
    return v1.get_variable(name, shape, dtype, initializer=first, use_resource=False)


def whole_of(loss):
    def build():
        x = v1.placeholder(tf.float32, [2, 4], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x), name="train")
        names.extend(v.op.name for v in v1.trainable_variables())

    names = []
    return WholeGraph(saved(traced(build), trainable_variables=names))


@pytest.mark.parametrize("first, second, count", [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_layers_that_both_begin_with_zeros_are_named(first, second, count):
    def loss(x):
        hidden = tf.nn.relu(x @ variable("u", [4, 3], first) + variable("b", [3], True))
        return tf.reduce_mean(tf.square(hidden @ variable("v", [3, 1], second)))

    found = list(weights.layers_of_zeros(whole_of(loss)))
    assert [hazard.id for hazard in found] == ["LAYERS_OF_ZEROS"] * count


def test_layers_of_zeros_beside_each_other_are_not():
    def loss(x):
        shared = x @ variable("w", [4, 3])
        heads = [shared @ variable(name, [3, 1], True) for name in "uv"]
        return tf.reduce_mean(tf.square(heads[0] - heads[1]))

    assert not list(weights.layers_of_zeros(whole_of(loss)))


@pytest.mark.parametrize("kept", [True, False])
def test_a_weight_that_is_no_variable_is_named(kept):
    def loss(x):
        weight = variable("u", [4, 3]) if kept else v1.random_normal([4, 3])
        return tf.reduce_mean(tf.square(x @ weight @ variable("v", [3, 1])))

    found = [hazard.id for hazard in weights.weights_drawn_anew(whole_of(loss))]
    assert found == [] if kept else found == ["WEIGHT_DRAWN_ANEW"]


@pytest.mark.parametrize(
    "product, count",
    [
        (lambda x: x @ (v1.random_uniform([4, 3], -1.0, 1.0) / 2.0), 1),  # as a uniform initializer draws them
        (lambda x: x @ tf.math.l2_normalize(v1.random_normal([4, 3]), 0), 0),  # directions of a sliced distance
        (lambda x: tf.matmul(x, v1.random_normal([3, 4]), transpose_b=True), 0),  # samples, compared with the data
        (lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + tf.eye(2)) @ v1.random_normal([2, 3]), 0),
    ],
)
def test_random_directions_samples_and_noise_with_a_covariance_are_no_weights(product, count):
    found = list(weights.weights_drawn_anew(whole_of(lambda x: tf.reduce_mean(product(x) @ variable("v", [3, 1])))))
    assert [hazard.id for hazard in found] == ["WEIGHT_DRAWN_ANEW"] * count


@pytest.mark.parametrize(
    "rows, count",
    [
        (lambda words, x: tf.gather(v1.random_uniform([9, 4], -1.0, 1.0), words), 1),
        (lambda words, x: tf.gather(variable("table", [9, 4]), words), 0),
        (lambda words, x: x + tf.gather(v1.random_normal([9, 4]), words), 0),  # noise that groups of examples share
        (lambda words, x: x * tf.gather(v1.random_uniform([9, 4]), words), 0),
    ],
)
def test_a_table_of_words_that_is_drawn_anew_is_named(rows, count):
    def loss(x):
        words = v1.placeholder(tf.int32, [2], "words")
        return tf.reduce_mean(tf.square(rows(words, x) @ variable("v", [4, 1])))

    assert [hazard.id for hazard in weights.weights_drawn_anew(whole_of(loss))] == ["WEIGHT_DRAWN_ANEW"] * count


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32])
def test_weights_of_16_bits_are_named(dtype):
    def loss(x):
        half = tf.cast(x, tf.float16) @ tf.cast(variable("v", [4, 1], dtype=dtype), tf.float16)
        return tf.reduce_mean(tf.square(half))

    found = list(weights.weights_in_half_precision(whole_of(loss)))
    assert [hazard.op for hazard in found] == (["v"] if dtype == tf.float16 else [])


@pytest.mark.parametrize("is_copy", [True, False])
def test_copies_of_16_bits_of_trained_weights_are_not(is_copy):
    """Mixed precision: the update trains a float32 weight, and its copy for the layers is assigned behind it."""

    def build():
        x = v1.placeholder(tf.float16, [2, 4], "x")
        half = variable("half", [4, 1], dtype=tf.float16)
        master = v1.get_variable("master", [4, 1], trainable=False, use_resource=False)
        gradient = tf.cast(tf.gradients(tf.reduce_mean(tf.square(x @ half)), half)[0], tf.float32)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        if is_copy:
            with v1.control_dependencies([optimizer.apply_gradients([(gradient, master)])]):
                v1.assign(half, tf.cast(master, tf.float16), name="train")
        else:
            v1.assign(half, half - tf.cast(0.5 * gradient, tf.float16), name="train")

    graph = saved(traced(build), trainable_variables=["half"])
    found = [hazard.op for hazard in weights.weights_in_half_precision(WholeGraph(graph))]
    assert found == ([] if is_copy else ["half"])


@pytest.mark.parametrize("clipped, count", [(("critic", "generator"), 1), (("critic",), 0)])
def test_a_clipping_of_weights_that_another_train_op_trains_is_named(clipped, count):
    def build():
        x, z = v1.placeholder(tf.float32, [8, 4], "x"), v1.random_normal([8, 4])
        generator, critic = variable("generator", [4, 4]), variable("critic", [4, 1])
        rows = {"critic": critic, "generator": generator}
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        faked = tf.reduce_mean(tf.tanh(tf.tanh(z @ generator) @ critic))
        real = tf.reduce_mean(tf.tanh(x @ critic))
        update = optimizer.minimize(faked - real, var_list=[critic])
        with tf.control_dependencies([update]):
            bounded = [v1.assign(rows[name], tf.clip_by_value(rows[name], -0.5, 0.5)) for name in clipped]
            tf.group(*bounded, name="c_train")
        optimizer.minimize(-faked, var_list=[generator], name="g_train")

    graph = saved(traced(build), trainable_variables=["generator", "critic"])
    found = analyse_graph(graph, "small", ["c_train", "g_train"])
    hazards = list(weights.clipped_weights_of_others(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["WEIGHTS_OF_OTHERS_CLIPPED"] * count
