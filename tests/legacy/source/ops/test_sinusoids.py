"""Tables of sines and cosines are a call of the function that makes them, bit for bit."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.ops.constants import constant_expression
from legacy.source.ops.sinusoids import FUNCTIONS, sinusoids_expression
from tests.legacy.source.tiny import written


def table(positions, units, in_pairs=True, wavelength=10000.0):
    """The table as authors of the time made it, by numpy."""
    unit = np.arange(units)
    power = 2 * (unit // 2) / units if in_pairs else 2 * unit / units
    angles = np.arange(positions)[:, np.newaxis] / np.power(wavelength, power)
    angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    return angles.astype(np.float32)


@pytest.mark.parametrize("in_pairs", [True, False])
@pytest.mark.parametrize("positions, units", [(4, 4), (6, 16), (50, 64), (10, 7)])
def test_a_table_is_a_call_with_its_bits(positions, units, in_pairs):
    value = table(positions, units, in_pairs)
    text = expression_text(sinusoids_expression(value))
    assert text == f"sinusoids({positions}, {units}, in_pairs={in_pairs})"
    space = {"tf": tf}
    exec("\n".join(FUNCTIONS["sinusoids"]), space)
    assert eval(text, space).numpy().tobytes() == value.tobytes()


def test_axes_of_one_stay():
    assert expression_text(sinusoids_expression(table(6, 8)[np.newaxis])).startswith("tf.reshape(sinusoids(6, 8")


def test_another_table_is_no_such_call():
    changed = table(6, 16)
    changed[5, 3] = np.nextafter(changed[5, 3], np.float32(2))
    others = [changed, table(6, 16, wavelength=1000.0), table(6, 16)[1:], table(6, 16).astype(np.float64), table(3, 16)]
    assert all(sinusoids_expression(other) is None for other in others)


def test_small_and_large_tables_are_written_so():
    assert "sinusoids(" in expression_text(constant_expression(table(6, 8)))
    lines = written(lambda x: x + tf.constant(table(20, 16)), {"x": [20, 16]})
    assert lines == ['return batch["x"] + sinusoids(20, 16, in_pairs=True)']
