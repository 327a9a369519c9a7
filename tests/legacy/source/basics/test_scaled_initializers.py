"""Tests of variance scaling that is recognised over several weights."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.initializers import FoundInitializer
from legacy.source.basics.initial import find_initializers
from legacy.source.basics.scaled_initializers import Scaling, find_scaled
from tests.legacy.saved.graphs import traced
from workloads.initializers import VarianceScaling
from workloads.lifted.plan import Variable
from workloads.lifted.plan.initializers import CONSTANT, NORMAL, TRUNCATED_NORMAL, UNIFORM

v1 = tf.compat.v1
SHAPES = {"a": [3, 3, 4, 8], "b": [1, 1, 8, 16], "c": [16, 10]}


def drawn(mode: str, distribution: str) -> dict[str, str]:
    """Returns the texts of the initializers of weights that TensorFlow scales."""
    initializer = v1.variance_scaling_initializer(2.0, mode, distribution)

    def build() -> None:
        for name, shape in SHAPES.items():
            v1.get_variable(name, shape, initializer=initializer, use_resource=False)

    variables = [Variable(name=name, shape=shape, dtype="float32", role="weight") for name, shape in SHAPES.items()]
    texts, unknown = find_initializers(traced(build), variables)
    assert not unknown
    return texts


def test_tensorflows_variance_scaling_is_recognised():
    assert set(drawn("fan_in", "truncated_normal").values()) == {"initializers.VarianceScaling(2.0)"}
    assert set(drawn("fan_avg", "untruncated_normal").values()) == {
        'initializers.VarianceScaling(2.0, "fan_avg", "untruncated_normal")'
    }
    assert set(drawn("fan_out", "uniform").values()) == {'initializers.VarianceScaling(2.0, "fan_out", "uniform")'}


def test_the_class_draws_with_the_deviation_of_the_graph():
    for distribution, kind, numbers in (
        ("truncated_normal", TRUNCATED_NORMAL, lambda deviation: (deviation / 0.87962566,)),
        ("untruncated_normal", NORMAL, lambda deviation: (deviation, 0.0)),
        ("uniform", UNIFORM, lambda deviation: (-deviation * 3**0.5, deviation * 3**0.5)),
    ):
        found = {n: (FoundInitializer(kind, numbers((1.5 / n) ** 0.5)), [n, 2]) for n in (64, 256)}
        assert find_scaled(found) == dict.fromkeys(found, Scaling(1.5, "fan_in", distribution))
        values = VarianceScaling(1.5, "fan_in", distribution)((64, 2000), np.random.RandomState(0))
        np.testing.assert_allclose(values.std(), (1.5 / 64) ** 0.5, rtol=0.01)  # of 128,000 numbers: known to 0.2 %


def test_deviations_that_do_not_follow_from_the_sizes_are_left_as_they_are():
    def found(**deviations: float) -> dict[str, tuple[FoundInitializer, list[int]]]:
        return {n: (FoundInitializer(TRUNCATED_NORMAL, (d,)), SHAPES[n]) for n, d in deviations.items()}

    assert find_scaled(found(a=0.1, b=0.1, c=0.1)) == {}  # one deviation for all
    assert find_scaled(found(a=36**-0.5)) == {}  # one weight does not tell
    assert set(find_scaled(found(a=36**-0.5, b=8**-0.5, c=0.05))) == {"a", "b"}
    constants = {
        "a": (FoundInitializer(CONSTANT, (36**-0.5,)), [36, 1]),
        "b": (FoundInitializer(CONSTANT, (1.0,)), [1, 1]),
    }
    assert find_scaled(constants) == {}
    shifted = {str(n): (FoundInitializer(NORMAL, (n**-0.5, 1.0)), [n, 1]) for n in (4, 16)}
    assert find_scaled(shifted) == {}
