"""Formats of half precision, and the programs that compute in them."""

import pytest
import tensorflow as tf

from workloads.numerics.half_precision import SIGNIFICANDS, coarsest_half, epsilon


@pytest.mark.parametrize("name", SIGNIFICANDS)
def test_a_format_s_epsilon_is_the_gap_after_one(name):
    def rounded(value):
        return float(tf.cast(tf.cast(value, name), tf.float32))

    assert rounded(1 + epsilon(name)) == 1 + epsilon(name)
    assert rounded(1 + epsilon(name) / 4) == 1.0


def test_the_coarsest_format_is_named():
    assert coarsest_half(["float32", "float16"]) == "float16"
    assert coarsest_half(["float16", "bfloat16"]) == "bfloat16"
    assert coarsest_half(["float64", "int32"]) == ""
