"""Gumbel noise with and without its minus sign."""

import pytest
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.models.noise import gumbel_noise
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(perturbed):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        uniform = v1.random_uniform([8, 3], 1e-6, 1.0)
        shares = tf.nn.softmax(perturbed(v1.placeholder(tf.float32, [8, 4], "x") @ w, uniform))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares)), name="train")

    return [hazard.id for hazard in gumbel_noise(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "perturbed, count",
    [
        (lambda logits, u: logits + tf.math.log(-tf.math.log(u)), 1),
        (lambda logits, u: logits + (tf.math.log(-tf.math.log(u + 1e-9) + 1e-9)), 1),
        (lambda logits, u: logits - tf.math.log(-tf.math.log(u)), 0),
        (lambda logits, u: logits + -tf.math.log(-tf.math.log(u + 1e-9) + 1e-9), 0),
        (lambda logits, u: logits + tf.math.log(u), 0),
    ],
)
def test_noise_without_its_minus_sign_is_named(perturbed, count):
    assert found(perturbed) == ["GUMBEL_SIGN"] * count
