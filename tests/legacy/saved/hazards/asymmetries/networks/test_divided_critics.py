"""Critics that compute their outputs for real and generated examples by one network, or by two."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries.networks.divided_critics import divided_critics
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1
SIZES = {"g": (3, 4), "hidden": (4, 5), "out": (5, 1)}


def linear(scores, is_real):
    return tf.reduce_mean(scores) * (-1.0 if is_real else 1.0)


def entropies(scores, is_real):
    labels = tf.ones_like(scores) if is_real else tf.zeros_like(scores)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores))


def logarithms(scores, is_real):
    shares = tf.sigmoid(scores)
    return -tf.reduce_mean(tf.math.log(shares + 1e-8 if is_real else 1.0 - shares + 1e-8))


def squares(scores, is_real):
    return tf.reduce_mean(tf.square(scores - (1.0 if is_real else -1.0)))


def hazards(loss, offsets=("norm/b", "norm_1/b"), last=("out", "out"), players=2, is_generated=True, untrained=()):
    """The ids for a critic with the offsets of a normalization and the last weights of its two outputs."""
    names = [*SIZES, *offsets, *last]

    def score(x, offset, out):
        mean, variance = tf.nn.moments(x @ variables["hidden"], [0])
        hidden = tf.nn.batch_normalization(x @ variables["hidden"], mean, variance, variables[offset], None, 1e-3)
        return tf.nn.leaky_relu(hidden) @ variables[out]

    variables = {}

    def build():
        variables.update({n: variable(n, *SIZES.get(n, SIZES["out"] if "out" in n else (5,))) for n in set(names)})
        noise = v1.random_normal([8, 3])
        made = tf.tanh(noise @ variables["g"]) if is_generated else fed("others", 8, 4)
        real, fake = score(fed("real", 8, 4), offsets[0], last[0]), score(made, offsets[1], last[1])
        critic, own = loss(real, True) + loss(fake, False), [n for n in set(names) if n != "g" and n not in untrained]
        generator = loss(fake, True) if is_generated else tf.reduce_mean(noise @ variables["g"])
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        if players == 1:
            return optimizer.minimize(critic, var_list=[variables[n] for n in sorted(set(names))], name="train")
        optimizer.minimize(critic, var_list=[variables[n] for n in sorted(own)], name="c_train")
        return optimizer.minimize(generator, var_list=[variables["g"]], name="g_train")

    trained = sorted(set(names) - set(untrained))
    return [hazard.id for hazard in divided_critics(WholeGraph(saved(traced(build), trainable_variables=trained)))]


LOSSES = [linear, entropies, logarithms, squares]


@pytest.mark.parametrize("loss", LOSSES)
def test_offsets_of_their_own_are_named(loss):
    assert hazards(loss) == ["CRITIC_OF_TWO_NETWORKS"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "built",
    [
        {"offsets": ("norm/b", "norm/b")},
        {"offsets": ("norm_real/b", "norm_made/b")},  # for a purpose
        {"last": ("out", "out_1")},  # two critics
        {"players": 1},  # no opponent
        {"is_generated": False},  # two kinds of real examples
        {"untrained": ("norm/b", "norm_1/b")},  # kept as they began
    ],
)
def test_one_network_is_not_nor_what_may_be_meant(loss, built):
    assert hazards(loss, **built) == []
