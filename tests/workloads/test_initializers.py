import numpy as np
import pytest

from workloads import initializers
from workloads.numerics import random_keys

SHAPE = (200, 300)


def draw(initializer, name="x"):
    return initializer(SHAPE, random_keys.generator(name))


@pytest.mark.parametrize(
    "initializer, deviation",
    [
        (initializers.TruncatedNormal(1.0), 0.8796),  # a normal cut at two deviations keeps 0.8796 of its own
        (initializers.TruncatedNormal(0.05), 0.05 * 0.8796),
        (initializers.Normal(0.25, mean=3.0), 0.25),
        (initializers.Uniform(1.0, 2.0), np.sqrt(1.0 / 12.0)),
        (initializers.GlorotUniform(), np.sqrt(2.0 / (200 + 300))),
        (initializers.HeNormal(), 0.8796 * np.sqrt(2.0 / 200)),
        (initializers.VarianceScaling(2.0), np.sqrt(2.0 / 200)),
        (initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal"), np.sqrt(2.0 / 300)),
        (initializers.VarianceScaling(2.0, "fan_avg", "uniform"), np.sqrt(2.0 / 250)),
    ],
)
def test_deviation(initializer, deviation):
    values = draw(initializer)
    assert values.dtype == np.float32
    # 60,000 draws: the deviation's own standard error is 0.3 %.
    np.testing.assert_allclose(values.std(), deviation, rtol=0.015)


def test_a_normal_has_its_mean_and_uniform_numbers_their_bounds():
    np.testing.assert_allclose(draw(initializers.Normal(0.25, mean=3.0)).mean(), 3.0, rtol=0.002)
    numbers = draw(initializers.Uniform(1.0, 2.0))
    assert 1.0 <= numbers.min() < 1.01 and 1.99 < numbers.max() < 2.0


def test_truncated_normal_stays_within_two_deviations():
    assert np.abs(draw(initializers.TruncatedNormal(0.5))).max() <= 1.0


@pytest.mark.parametrize("shape, side", [((6, 4), "columns"), ((4, 6), "rows"), ((3, 2, 4), "columns")])
def test_an_orthogonal_matrix_keeps_lengths_and_has_its_gain(shape, side):
    values = initializers.Orthogonal(0.5)(shape, random_keys.generator("x"))
    assert values.shape == shape and values.dtype == np.float32
    matrix = values.reshape(-1, shape[-1])
    product = matrix.T @ matrix if side == "columns" else matrix @ matrix.T
    np.testing.assert_allclose(product, 0.25 * np.eye(len(product)), atol=1e-6)


def test_fans_count_the_receptive_field_as_tensorflow_does():
    assert initializers.fans((5, 5, 3, 64)) == (75, 1600)
    assert initializers.fans((7,)) == (7, 7)
    assert initializers.fans(()) == (1, 1)


def test_the_stream_of_a_name_never_changes():
    # A golden value: recordings made years apart rest on it.
    np.testing.assert_array_equal(random_keys.generator("golden", 0).randint(0, 1000, 4), GOLDEN)
    assert random_keys.noise_key(0, 1, "dropout") == GOLDEN_KEY


GOLDEN = [281, 126, 95, 950]
GOLDEN_KEY = 991566049
