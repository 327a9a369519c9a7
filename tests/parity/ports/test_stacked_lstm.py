"""The LSTM port: legacy's weights in Keras's layout and back."""

import numpy as np

from parity.causes.catalogue import CAUSES
from parity.ports import stacked_lstm
from parity.ports.stacked_lstm import WORKLOAD, to_keras, to_legacy

UNITS = WORKLOAD.units


def legacy_weights():
    """Weights whose numbers are all different."""
    numbers = iter(range(1, 10**6))
    shapes = {}
    for layer in range(WORKLOAD.depth):
        inputs = WORKLOAD.features if layer == 0 else UNITS
        shapes[f"lstm{layer}/kernel"] = (inputs + UNITS, 4 * UNITS)
        shapes[f"lstm{layer}/bias"] = (4 * UNITS,)
    shapes["logits/weights"], shapes["logits/biases"] = (UNITS, WORKLOAD.classes), (WORKLOAD.classes,)
    return {
        name: np.array([next(numbers) for _ in range(int(np.prod(shape)))], np.float64).reshape(shape)
        for name, shape in shapes.items()
    }


def test_keras_has_three_arrays_a_layer_and_the_last_layers_two():
    arrays = to_keras(legacy_weights())
    assert [array.shape for array in arrays[:3]] == [(WORKLOAD.features, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)]
    assert len(arrays) == 3 * WORKLOAD.depth + 2


def test_the_forget_gate_comes_second_in_keras_with_the_bias_that_legacy_adds():
    weights = legacy_weights()
    kernel, _, bias = to_keras(weights)[:3]
    i, j, f, o = np.split(weights["lstm0/kernel"], 4, axis=-1)
    assert np.array_equal(kernel, np.concatenate([i, f, j, o], axis=-1)[: WORKLOAD.features])
    i, j, f, o = np.split(weights["lstm0/bias"], 4)
    assert np.array_equal(bias, np.concatenate([i, f + 1, j, o]))


def test_back_is_the_inverse():
    weights = legacy_weights()
    back = to_legacy(to_keras(weights), "weights")
    assert back.keys() == weights.keys()
    assert all(np.array_equal(back[name], weights[name]) for name in weights)


def test_gradients_have_no_forget_bias():
    weights = legacy_weights()
    back = to_legacy(to_keras(weights), "gradients")
    forget = slice(2 * UNITS, 3 * UNITS)
    assert np.array_equal(back["lstm0/bias"][forget], weights["lstm0/bias"][forget] + 1)
    assert np.array_equal(back["lstm0/kernel"], weights["lstm0/kernel"])


def test_the_arrays_that_are_given_are_not_changed():
    arrays = to_keras(legacy_weights())
    before = [array.copy() for array in arrays]
    to_legacy(arrays, "weights")
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before))


def test_the_expected_causes_are_in_the_catalogue():
    assert set(stacked_lstm.EXPECTED) <= {cause.id for cause in CAUSES}
