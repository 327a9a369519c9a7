"""Names of taps, and gradients that a loss does not have."""

import tensorflow as tf

from workloads import taps


def test_a_layer_or_a_pattern_names_taps():
    names = ["stem/conv.output", "stem2/conv.output", "relu"]
    assert [taps.is_tapped(name, ("stem",)) for name in names] == [True, False, False]
    assert [taps.is_tapped(name, ("relu", "stem2/*")) for name in names] == [False, True, True]


def test_a_second_tap_of_a_name_gets_a_number():
    known = {}
    for _ in range(3):
        known[taps.unused_name("relu", known)] = None
    assert list(known) == ["relu", "relu:2", "relu:3"]


def test_a_variable_belongs_to_the_innermost_layer():
    layers = ["block", "block/conv", "other"]
    assert taps.layer_of_variable("block/conv/weights", layers) == "block/conv"
    assert taps.layer_of_variable("block/bias", layers) == "block"
    assert taps.layer_of_variable("blocks/bias", layers) is None


def test_a_tap_without_a_gradient_has_zeros():
    made = {"x": tf.constant([1.0, 2.0]), "y": tf.constant([3.0]), "n": tf.constant([4])}
    names, tensors = taps.differentiable(made)
    assert names == ["x", "y"] and tensors == [made["x"], made["y"]]
    filled = taps.filled_gradients(made, {"x": None, "y": tf.constant([5.0])})
    assert {name: value.numpy().tolist() for name, value in filled.items()} == {"x": [0, 0], "y": [5], "n": [0]}
