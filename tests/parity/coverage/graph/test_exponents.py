"""Whole exponents, beside other constants and exponents that are no whole numbers."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.graph.constants import ConstantIndex, GraphConstant
from parity.coverage.graph.exponents import is_whole_exponent
from tests.legacy.saved.graphs import traced
from tests.parity.coverage.graph.test_constants import TwoTowers

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "value, use, is_found",
    [
        (2.0, lambda x, c: x**c, True),
        (3.0, lambda x, c: x**c, True),
        (1.5, lambda x, c: x**c, False),  # as of a root, whose base is positive
        (2.0, lambda x, c: c**x, False),
        (2.0, lambda x, c: x * c, False),
        (2.0, lambda x, c: x**c + c, False),
    ],
)
def test_whole_exponents(value, use, is_found):
    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        power = use(v1.placeholder(tf.float32, [3], "x") * w, tf.constant(value, name="c"))
        tf.gradients(power, [w])  # takes the exponent, too

    assert is_whole_exponent(traced(build), ["c"], np.asarray(value, np.float32)) == is_found


class Squares(TwoTowers):
    """The same program, with a square of what may be negative."""

    def __init__(self):
        super().__init__()
        with self.graph.as_default():
            weight, _ = v1.global_variables()
            error = weight - 1.0
            self.train = v1.assign_sub(weight, tf.pow(error, tf.constant(2.0, name="power")), name="squared").op


def test_a_square_stays_finite():
    """A power of 2.02 is NaN for a negative number, which shows a comparison nothing."""
    constant = GraphConstant("power", ("power",), np.float32(2), False)
    assert [words for words, _ in ConstantIndex(Squares()).changed_values(constant)] == ["2 -> 4"]
