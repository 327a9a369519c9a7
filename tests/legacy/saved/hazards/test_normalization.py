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


def plain(x, gamma, beta, mean, variance):
    return tf.nn.batch_normalization(x, mean, variance, None, None, 0.001)


def with_offset(x, gamma, beta, mean, variance):
    return tf.nn.batch_normalization(x, mean, variance, beta, None, 0.001)


def plain_fused(x, gamma, beta, mean, variance):
    return fused(x, tf.ones([3]), tf.zeros([3]), mean, variance)


def found(
    normalize, moves=False, is_trained=True, is_used=True, is_loaded=False, begins=(None, None), is_of_data=False
):
    """The hazards of a program that normalizes features once in training, and once for evaluation.

    Args:
      normalize: (x, gamma, beta, mean, variance) -> what a layer gives.
      moves: whether the program moves the variance.
      is_trained: whether scale and offset are trained.
      is_used: whether the loss takes what is normalized.
      is_loaded: whether a layer comes first whose weights nothing changes.
      begins: the numbers that mean and variance begin with; None for others.
      is_of_data: whether the data themselves are normalized, before the layer.
    """

    def build():
        kept = {"use_resource": False}
        w = v1.get_variable("w", [4, 3], **kept)
        gamma, beta = (v1.get_variable(name, [3], trainable=is_trained, **kept) for name in ("gamma", "beta"))
        mean, variance = (
            v1.get_variable(
                name,
                [4 if is_of_data else 3],
                trainable=False,
                initializer=None if first is None else v1.constant_initializer(first),
                **kept,
            )
            for name, first in zip(("mean", "variance"), begins)
        )
        kernel = v1.get_variable("kernel", [4, 4], trainable=False, **kept)
        rows = v1.placeholder(tf.float32, [None, 4], "x")
        x = tf.matmul(tf.matmul(rows, kernel) if is_loaded else rows, w)
        y = normalize(x, gamma, beta, mean, variance) if not is_of_data else None
        if y is None:
            y = tf.matmul(normalize(rows, None, None, mean, variance), w) * gamma + beta
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


@pytest.mark.parametrize("normalize", [plain, plain_fused, with_offset])
def test_layers_without_a_scale_are_named_where_weights_come_first(normalize):
    (hazard,) = found(normalize, begins=(0.0, 1.0))
    assert hazard.id == "STATISTICS_FIXED" and hazard.description.startswith("1 layer normalizes by statistics")


@pytest.mark.parametrize("normalize", [plain, plain_fused])
@pytest.mark.parametrize(
    "other", [{"moves": True}, {"is_loaded": True}, {"begins": (0.5, 2.0)}, {"begins": (None, None)}]
)
def test_layers_without_a_scale_whose_statistics_are_others_are_not(normalize, other):
    assert found(normalize, **{"begins": (0.0, 1.0), **other}) == []


def test_layers_with_an_offset_that_nothing_trains_are_not():
    assert found(with_offset, begins=(0.0, 1.0), is_trained=False) == []


def test_data_that_are_standardized_by_loaded_statistics_are_not():
    assert found(plain, begins=(0.0, 1.0), is_of_data=True) == []


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
