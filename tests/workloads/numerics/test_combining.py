import numpy as np
import pytest
import tensorflow as tf

from workloads.numerics import combining
from workloads.workload import Clip

VALUES = [tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0]), tf.constant([5.0, 1.0]), tf.constant([7.0, 3.0])]


@pytest.mark.parametrize("form", ["stack", "add_n", "add_n_reciprocal"])
@pytest.mark.parametrize("how, expected", [("mean", [4.0, 3.0]), ("sum", [16.0, 12.0])])
def test_combine(form, how, expected):
    np.testing.assert_array_equal(combining.combine(VALUES, how, form), expected)


def test_a_third_is_rounded_before_it_is_multiplied():
    ones = [tf.constant([5.0, 3.0])] * 3
    divided, multiplied = (combining.combine(ones, "mean", form).numpy() for form in ("add_n", "add_n_reciprocal"))
    np.testing.assert_array_equal(divided, np.float32([15, 9]) / np.float32(3))
    np.testing.assert_array_equal(multiplied, np.float32([15, 9]) * np.float32(1 / 3))


def test_one_value_passes_unchanged():
    assert combining.combine(VALUES[:1], "mean") is VALUES[0]


@pytest.mark.parametrize(
    "how, expected",
    [("global_norm", [[3.0], [4.0]]), ("norm", [[5.0], [5.0]]), ("value", [[5.0], [5.0]])],
)
def test_clip(how, expected):
    clipped = combining.clip([tf.constant([6.0]), tf.constant([8.0])], Clip(5.0, "tower", how), "tower")
    np.testing.assert_array_equal(clipped, expected)


def test_clip_applies_only_where_it_says():
    gradients = [tf.constant([6.0])]
    assert combining.clip(gradients, Clip(5.0, "tower"), "combined") == gradients
    assert combining.clip(gradients, None, "tower") == gradients


def test_dense_scatters_rows_and_fills_in_zeros():
    weight = tf.zeros([3, 2])
    rows = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([1, 1]), tf.constant([3, 2]))
    scattered, missing = combining.dense([rows, None], [weight, weight])
    np.testing.assert_array_equal(scattered, [[0, 0], [3, 3], [0, 0]])
    np.testing.assert_array_equal(missing, np.zeros((3, 2)))


def test_gradients_are_clipped_before_and_after_combining_as_the_rule_says():
    towers = [{"w": tf.constant([8.0])}, {"w": tf.constant([2.0])}]
    expected = {"tower": (4.0 + 2.0) / 2, "combined": 4.0}
    for where, value in expected.items():
        made = combining.combine_gradients(towers, "mean", Clip(4.0, where, "value"), "stack")
        assert float(made["w"][0]) == value
    assert float(combining.combine_gradients(towers, "sum", None, "add_n")["w"][0]) == 10.0


def test_gradients_applied_alone_are_clipped_by_either_rule():
    for where in ("tower", "combined"):
        assert float(combining.clip_alone([tf.constant([6.0])], Clip(5.0, where, "value"))[0][0]) == 5.0


def test_each_weights_gradients_are_combined_on_its_device():
    towers = [{"w": tf.constant([1.0])}, {"w": tf.constant([3.0])}]
    made = combining.combine_gradients(towers, "mean", None, "stack", {"w": "CPU:1"})
    assert made["w"].device.endswith("CPU:1") and float(made["w"][0]) == 2.0
