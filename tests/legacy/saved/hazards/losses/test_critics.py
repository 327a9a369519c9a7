"""Gradient penalties of a critic, each wrong and right."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses import critics
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, factor=(4, 1, 1, 1), axes=(1, 2, 3), by_shares=False, square=tf.square):
    """The hazards of a critic of images [4, 2, 2, 3] and a generator."""

    def build():
        real = v1.placeholder(tf.float32, [4, 2, 2, 3], "real")
        g = v1.get_variable("g", [3, 12], use_resource=False)
        c = v1.get_variable("c", [12, 1], use_resource=False)
        made = tf.reshape(tf.tanh(v1.random_normal([4, 3]) @ g), [4, 2, 2, 3])
        critic = lambda images: tf.matmul(tf.tanh(tf.reshape(images, [4, 12])), c)  # noqa: E731
        share = v1.random_uniform(factor)
        between = share * real + (1.0 - share) * made if by_shares else real + share * (made - real)
        slopes = tf.sqrt(tf.reduce_sum(square(tf.gradients(critic(between), [between])[0]), axes))
        scores, of_real = tf.reduce_mean(critic(made)), tf.reduce_mean(critic(real))
        loss = scores - of_real + 10.0 * tf.reduce_mean(tf.square(slopes - 1.0))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(loss, var_list=[c], name="c_train")
        optimizer.minimize(-scores, var_list=[g], name="g_train")

    graph = saved(traced(build), trainable_variables=["g", "c"])
    analysis = analyse_graph(graph, "made-for-a-test", ["c_train", "g_train"])
    return [hazard.id for hazard in check(WholeGraph(graph, analysis), analysis)]


@pytest.mark.parametrize("by_shares", [True, False])
@pytest.mark.parametrize("factor, count", [((4, 2, 2, 3), 1), ((4, 1, 1, 1), 0)])
def test_a_factor_of_each_element_is_named(factor, count, by_shares):
    assert found(critics.interpolated_by_pixel, factor, by_shares=by_shares) == ["INTERPOLATED_BY_ELEMENT"] * count


@pytest.mark.parametrize("square", [tf.square, lambda x: x**2, lambda x: x * x])
@pytest.mark.parametrize("axes, count", [((1,), 1), ((1, 2), 1), ((0, 1, 2, 3), 1), ((1, 2, 3), 0)])
def test_a_norm_of_parts_is_named(axes, count, square):
    assert found(critics.norms_of_parts, axes=axes, square=square) == ["PENALTY_OF_PARTS"] * count


@pytest.mark.parametrize("of_each_point, count", [(True, 0), (False, 1)])
def test_norms_of_points_are_named_unless_each_point_has_a_score_of_its_own(of_each_point, count):
    def build():
        points = v1.placeholder(tf.float32, [4, 5, 3], "points")
        w = v1.get_variable("w", [3, 1], use_resource=False)
        scores = tf.reshape(tf.matmul(tf.tanh(tf.reshape(points, [20, 3])), w), [4, 5, 1])
        scores = scores if of_each_point else tf.reduce_max(scores, 1)
        slopes = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(scores, [points])[0]), 2))
        loss = tf.reduce_mean(scores) + tf.reduce_mean(tf.square(slopes - 1.0))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    names = [hazard.id for hazard in critics.norms_of_parts(WholeGraph(graph, analysis), analysis)]
    assert names == ["PENALTY_OF_PARTS"] * count


@pytest.mark.parametrize("factor, count", [((1, 1, 1, 1), 1), ((4, 1, 1, 1), 0)])
def test_one_factor_for_all_examples_is_named(factor, count):
    assert found(critics.interpolated_by_pixel, factor) == ["NOISE_OF_ONE_EXAMPLE"] * count


def test_a_cube_is_no_square():
    assert found(critics.norms_of_parts, axes=(1,), square=lambda x: x**3) == []


def penalized(normalize):
    def build():
        c, d = v1.get_variable("c", [3, 4], use_resource=False), v1.get_variable("d", [4, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 3], "x")
        score = tf.tanh(normalize(x @ c)) @ d
        slopes = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(score, [x])[0]), 1))
        loss = tf.reduce_mean(score) + tf.reduce_mean(tf.square(slopes - 1.0))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["c", "d"]))
    return [hazard.id for hazard in critics.penalties_of_normalized_batches(whole)]


def by_moments(axis):
    def normalize(x):
        mean, variance = tf.nn.moments(x, [axis], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-3)

    return normalize


def with_deviation_of_batch(x):
    """A last feature that is the deviation of the others along the examples."""
    deviation = tf.sqrt(tf.reduce_mean(tf.square(x - tf.reduce_mean(x, 0, keepdims=True)), 0) + 1e-8)
    return tf.concat([x[:, 1:], tf.tile(tf.reshape(tf.reduce_mean(deviation), [1, 1]), [8, 1])], 1)


@pytest.mark.parametrize(
    "normalize, count", [(by_moments(0), 1), (by_moments(1), 0), (tf.identity, 0), (with_deviation_of_batch, 0)]
)
def test_a_penalty_of_a_critic_with_batch_normalization_is_named(normalize, count):
    assert penalized(normalize) == ["PENALTY_MIXES_EXAMPLES"] * count


def test_a_penalty_of_another_train_op_is_no_part_of_the_step():
    def build():
        x = v1.placeholder(tf.float32, [4, 3], "x")
        w = v1.get_variable("w", [3, 1], use_resource=False)
        norms = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(tf.square(x @ w), x)[0]), 0))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(tf.reduce_mean(x @ w), name="step")
        optimizer.minimize(tf.reduce_mean(tf.square(norms - 1.0)), name="beside")

    graph = saved(traced(build), trainable_variables=["w"])
    for train_op, named in (("step", []), ("beside", ["PENALTY_OF_PARTS"])):
        analysis = analyse_graph(graph, "made-for-a-test", [train_op])
        whole = WholeGraph(graph, analysis)
        assert [hazard.id for hazard in critics.norms_of_parts(whole, analysis)] == named
        assert not list(critics.interpolated_by_pixel(whole, analysis))
