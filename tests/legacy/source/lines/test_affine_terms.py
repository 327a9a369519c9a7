"""A normalization's offset stays with its layer, also where the result is a term of a longer sum."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.lines.affine_terms import affine_terms
from tests.legacy.source.tiny import recovered, values_of, written

SIZES = {"x": [3], "y": [3]}
WEIGHTS = {"gamma": [3], "beta": [3]}
GIVEN = {name: np.random.RandomState(0).randn(4, 3).astype(np.float32) for name in SIZES}
GIVEN.update({name: np.random.RandomState(1).randn(3).astype(np.float32) for name in WEIGHTS})


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y, gamma, beta: (tf.tanh(x) * gamma + beta) + tf.tanh(y) + y,
        lambda x, y, gamma, beta: tf.tanh(y) + (gamma * tf.tanh(x) + beta),
    ],
)
def test_an_offset_stands_with_its_scale(build):
    lines = written(build, SIZES, WEIGHTS)
    own = [line for line in lines if '"beta"' in line]
    assert len(own) == 1 and '"gamma"' in own[0] and "tanh(batch" in own[0] and '"y"' not in own[0], lines
    assert np.array_equal(values_of(lines, GIVEN), build(**{name: tf.constant(value) for name, value in GIVEN.items()}))


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y, gamma, beta: tf.tanh(x) * gamma + tf.tanh(y) + beta,
        lambda x, y, gamma, beta: tf.nn.relu(tf.tanh(x) * gamma + beta),
        lambda x, y, gamma, beta: (tf.tanh(x) * y + beta) + gamma,
    ],
)
def test_other_sums_are_one_line(build):
    recovery, ends = recovered(build, SIZES, WEIGHTS)
    assert not affine_terms(recovery.ordered(ends))
    assert len(written(build, SIZES, WEIGHTS)) == 1
