"""Dropout of 1.x is a call that names its rate, with the bits of the old ops."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.idioms import dropout
from tests.legacy.source.tiny import BATCH, values_of, written

RANDOM = np.random.RandomState(5)
GIVEN = {name: RANDOM.random_sample((BATCH, 7)).astype(np.float32) for name in ("x", "noise")}
INPUTS = {"x": [7], "noise": [7]}


def by_keep_prob(keep_prob):
    """`tf.nn.dropout` of the releases before 1.14."""
    return lambda x, noise: (x / keep_prob) * tf.floor(keep_prob + noise)


def by_rate(rate, scale):
    """`tf.nn.dropout` of 1.14 and 1.15."""
    return lambda x, noise: x * scale * tf.cast(noise >= rate, tf.float32)


def lines_with_functions(build):
    """The lines that compute what `build` does, with the functions that they call."""
    lines = written(build, INPUTS)
    texts = [text for name, text in dropout.FUNCTIONS.items() if any(name in line for line in lines)]
    return lines, [line for text in texts for line in text]


@pytest.mark.parametrize(
    "build, call",
    [
        (by_keep_prob(0.5), 'dropout_by_keep_prob(batch["x"], 0.5, batch["noise"])'),
        (by_keep_prob(0.7), 'dropout_by_keep_prob(batch["x"], 0.7, batch["noise"])'),
        (by_rate(0.3, 1 / (1 - 0.3)), 'dropout_by_rate(batch["x"], 0.3, batch["noise"])'),
        (by_rate(0.8, 1 / (1 - 0.8)), 'dropout_by_rate(batch["x"], 0.8, batch["noise"])'),
        (by_rate(0.8, 1 / (1 - np.float32(0.8))), 'dropout_by_rate(batch["x"], tf.constant(0.8), batch["noise"])'),
    ],
)
def test_a_known_rate(build, call):
    lines, functions = lines_with_functions(build)
    assert lines == ["return " + call]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        expected = session.run(build(*[tf.constant(GIVEN[name]) for name in INPUTS]))
    found = values_of(functions + lines, GIVEN)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "build",
    [
        by_rate(0.3, 2.0),  # of another rate
        lambda x, noise: x / 0.5 * tf.floor(0.25 + noise),
        lambda x, noise: x * 2.0 * tf.cast(noise >= tf.reduce_mean(noise), tf.float32),
    ],
)
def test_other_products_with_a_mask_are_written_out(build):
    assert "dropout" not in " ".join(written(build, INPUTS))


def test_a_rate_that_the_graph_computes():
    def build(x, noise, rate):
        return x * (1.0 / (1.0 - tf.reduce_mean(rate))) * tf.cast(noise >= tf.reduce_mean(rate), tf.float32)

    def shared(x, noise, rate):
        rate = tf.reduce_mean(rate)
        return x * (1.0 / (1.0 - rate)) * tf.cast(noise >= rate, tf.float32)

    assert "dropout_by_rate" in " ".join(written(shared, {**INPUTS, "rate": [1]}))
    assert "dropout" not in " ".join(written(build, {**INPUTS, "rate": [1]}))  # of two rates, as far as the graph says
