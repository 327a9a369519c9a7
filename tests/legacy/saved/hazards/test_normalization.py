"""Layers that normalize by statistics which nothing changes; twins whose statistics move or are meant to stay."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.normalization import fixed_statistics, normalized_in_some_towers, stopped_moments
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def fused(x, gamma, beta, mean, variance, training=False):
    given = {"is_training": training, "epsilon": 0.001}
    given.update({} if training else {"mean": mean, "variance": variance})
    return v1.nn.fused_batch_norm(x[:, tf.newaxis, tf.newaxis], gamma, beta, **given)[0]


def by_formula(x, gamma, beta, mean, variance):
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 0.001)


def found(normalize, moves=False, is_trained=True, is_used=True, is_loaded=False):
    """The hazards of a program that normalizes features once in training, and once for evaluation."""

    def build():
        kept = {"use_resource": False}
        w = v1.get_variable("w", [4, 3], **kept)
        gamma, beta = (v1.get_variable(name, [3], trainable=is_trained, **kept) for name in ("gamma", "beta"))
        mean, variance = (v1.get_variable(name, [3], trainable=False, **kept) for name in ("mean", "variance"))
        kernel = v1.get_variable("kernel", [4, 4], trainable=False, **kept)
        rows = v1.placeholder(tf.float32, [None, 4], "x")
        x = tf.matmul(tf.matmul(rows, kernel) if is_loaded else rows, w)
        y = normalize(x, gamma, beta, mean, variance)
        loss = tf.reduce_mean(y if is_used else x * gamma)
        if moves:
            v1.assign_sub(variance, 0.1 * (variance - tf.math.reduce_variance(x, 0)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    trained = ["w", "gamma", "beta"] if is_trained else ["w"]
    return list(fixed_statistics(WholeGraph(saved(traced(build), trainable_variables=trained))))


@pytest.mark.parametrize("normalize", [fused, by_formula])
def test_statistics_that_nothing_changes_are_named_once(normalize):
    (hazard,) = found(normalize)
    assert hazard.id == "STATISTICS_FIXED"
    assert hazard.description.startswith(
        "1 layer normalizes by statistics that nothing in the graph changes, such as variance"
    )


@pytest.mark.parametrize("normalize", [fused, by_formula])
@pytest.mark.parametrize("other", [{"moves": True}, {"is_trained": False}, {"is_used": False}, {"is_loaded": True}])
def test_statistics_that_move_or_are_meant_to_stay_are_not(normalize, other):
    assert found(normalize, **other) == []


def test_statistics_of_the_batch_are_not():
    assert found(lambda *variables: fused(*variables, training=True)) == []


@pytest.mark.parametrize("of_weights", [True, False])
@pytest.mark.parametrize("stop, count", [(True, 1), (False, 0)])
def test_moments_of_a_layer_behind_stop_gradient_are_named(of_weights, stop, count):
    def build():
        w, v = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("w", [4, 3]), ("v", [3, 1])))
        x = v1.placeholder(tf.float32, [8, 3 if not of_weights else 4], "x")
        features = x @ w if of_weights else x + 0.0
        mean, variance = tf.nn.moments(features, [0])
        if stop:
            mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
        normal = tf.nn.batch_normalization(features, mean, variance, None, None, 0.001)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(normal @ v)), name="train")

    found = list(stopped_moments(WholeGraph(saved(traced(build), trainable_variables=["w", "v"]))))
    assert [hazard.id for hazard in found] == ["MOMENTS_NOT_DIFFERENTIATED"] * (count * of_weights)


def by_moments(x, gamma, beta, mean, variance):
    return tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), beta, gamma, 0.001)


def trained_on_batch(*given):
    return fused(*given, training=True)


@pytest.mark.parametrize(
    "normalize, count",
    [
        ([trained_on_batch, fused], 1),
        ([fused, trained_on_batch], 1),
        ([by_moments, by_formula], 1),
        ([trained_on_batch, trained_on_batch], 0),
        ([by_formula, by_formula], 0),
    ],
)
def test_towers_that_normalize_in_different_ways_are_named(normalize, count):
    def build():
        kept = {"use_resource": False}
        w = v1.get_variable("w", [4, 3], **kept)
        gamma, beta = (v1.get_variable(name, [3], **kept) for name in ("gamma", "beta"))
        mean, variance = (v1.get_variable(name, [3], trainable=False, **kept) for name in ("mean", "variance"))
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                y = normalize[tower](x @ w, gamma, beta, mean, variance)
                for _ in range(4):
                    y = tf.tanh(tf.nn.relu(tf.sigmoid(y) * 3.0) - 0.5)
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(y)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w", "gamma", "beta"])
    hazards = list(normalized_in_some_towers(WholeGraph(graph, analyse_graph(graph, "small", ["train"]))))
    assert [hazard.id for hazard in hazards] == ["NORMALIZED_BY_BATCH_IN_SOME_TOWERS"] * count
