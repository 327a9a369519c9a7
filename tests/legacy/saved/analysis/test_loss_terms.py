import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.loss_terms import constant_factor, term_weights, weights_are_known
from tests.legacy.saved.graphs import graph_of, traced

v1 = tf.compat.v1


def context_of(joined):
    """The context of two towers' program that minimizes "total", which `joined` makes of both towers' losses."""

    def build():
        w = v1.get_variable("w", [2, 1], use_resource=False)
        halves, losses = tf.split(v1.placeholder(tf.float32, [8, 2], "x"), 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(halves[tower] @ w, name="loss"))
        loss = tf.identity(joined(losses, w), name="total")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train", colocate_gradients_with_ops=True)

    return Context(traced(build))


def old_concat(parts):
    """Joins parts as TensorFlow 0.12 does."""
    return tf.raw_ops.Concat(concat_dim=0, values=parts)


def weights_of(joined):
    """Weights of the towers' terms {op: weight} in a loss that `joined` makes of both towers' losses."""
    context = context_of(joined)
    return {tensor.node: weight for tensor, weight in term_weights(context.graph, context.towers, "total").items()}


@pytest.mark.parametrize(
    "joined, weights",
    [
        (lambda losses, w: tf.add_n(losses), (1.0, 1.0)),
        (lambda losses, w: tf.add_n(losses) / 2.0, (0.5, 0.5)),
        (lambda losses, w: tf.reduce_mean(tf.stack(losses)), (0.5, 0.5)),
        (lambda losses, w: losses[0] + losses[1] + tf.nn.l2_loss(w), (1.0, 1.0)),
    ],
)
def test_the_weights_of_a_sum_of_towers_losses(joined, weights):
    assert weights_of(joined) == {"tower_0/loss": weights[0], "tower_1/loss": weights[1]}


@pytest.mark.parametrize("join", [lambda parts: tf.concat(parts, 0), old_concat])
@pytest.mark.parametrize("reduce, weight", [(tf.reduce_mean, 0.5), (tf.reduce_sum, 1.0)])
def test_losses_that_are_joined_count_alike(join, reduce, weight):
    found = weights_of(lambda losses, w: reduce(join([tf.expand_dims(loss, 0) for loss in losses])))
    assert list(found.values()) == [weight, weight]


@pytest.mark.parametrize(
    "joined, is_known",
    [
        (lambda losses, w: tf.add_n(losses) / 2.0, True),
        (lambda losses, w: tf.reduce_mean(tf.stack(losses)) * 4.0 + tf.nn.l2_loss(w), True),
        (lambda losses, w: tf.add_n(losses) / v1.placeholder_with_default(2.0, []), False),
        (lambda losses, w: losses[0] * losses[1], False),
    ],
)
def test_weights_are_known_where_all_factors_are_constants(joined, is_known):
    context = context_of(joined)
    assert weights_are_known(context.graph, context.towers, "total") is is_known


def test_a_product_of_losses_has_no_constant_weights():
    assert weights_of(lambda losses, w: losses[0] * losses[1] + losses[0]) == {}


@pytest.mark.parametrize("is_one", [True, False])
def test_terms_that_are_all_divided_by_one_number_of_the_data(is_one):
    """As a loss and an auxiliary loss, each a sum over all towers' valid pixels, divided by their number."""

    def joined(losses, w):
        valid = tf.reduce_sum(tf.cast(v1.placeholder(tf.bool, [8], "valid"), tf.float32))
        return tf.add_n(losses) / valid + tf.add_n(losses) * 4.0 / (valid if is_one else valid + 1.0)

    assert weights_of(joined) == ({"tower_0/loss": 5.0, "tower_1/loss": 5.0} if is_one else {})


def test_the_constant_of_a_product_of_a_quotient_and_of_a_mean():
    graph = graph_of(
        """
        x = Placeholder()
        four = Const()
        product = Mul(x, four)
        quotient = RealDiv(x, four)
        reciprocal = RealDiv(four, x)
        pack = Pack(x, product)
        mean = Mean(pack, four)
        sum = AddV2(x, four)
        """,
        four={"value": np.array(4, np.float32)},
    )
    factors = {name: constant_factor(graph, name) for name in ("product", "quotient", "reciprocal", "mean", "sum")}
    assert factors == {"product": 4.0, "quotient": 0.25, "reciprocal": None, "mean": 0.5, "sum": None}
