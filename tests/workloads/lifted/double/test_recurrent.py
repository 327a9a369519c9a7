"""Formulas of the fused cells of recurrent nets against TensorFlow's float32 kernels."""

import numpy as np
import pytest

from tests.workloads.lifted.double.formula_cases import assert_same_mathematics, kernel_and_formula, numbers
from workloads.lifted.double import recurrent

BATCH, SIZE, UNITS, TIME = 3, 2, 4, 5


def lstm_inputs(*times):
    """x, cs_prev, h_prev, w, the three peepholes, b."""
    shapes = [(*times, BATCH, SIZE), (BATCH, UNITS), (BATCH, UNITS), (SIZE + UNITS, 4 * UNITS)]
    shapes += [(UNITS,)] * 3 + [(4 * UNITS,)]
    return [numbers(seed, *shape) for seed, shape in enumerate(shapes)]


def gradients(seed, *times):
    return [numbers(seed + place, *times, BATCH, UNITS) for place in range(2)]


@pytest.mark.parametrize("peephole", [True, False])
def test_the_cell_and_its_gradient(peephole):
    arrays = lstm_inputs()
    outputs, _ = assert_same_mathematics(
        "LSTMBlockCell", arrays, forget_bias=0.7, cell_clip=1.25, use_peephole=peephole
    )
    assert np.abs(outputs[1]).max() == 1.25  # the clip acts
    arrays += outputs[:6] + gradients(20)
    places = range(5) if peephole else range(2)  # otherwise the kernel leaves the peepholes' gradients as they are
    assert_same_mathematics("LSTMBlockCellGrad", arrays, places, limit=1e-5, use_peephole=peephole)


@pytest.mark.parametrize("version", ["", "V2"])
@pytest.mark.parametrize("length", [TIME, 3])
def test_the_whole_sequence_and_its_gradient(version, length):
    arrays = [np.int64(length), *lstm_inputs(TIME)]
    settings = {"cell_clip": 1.5, "use_peephole": True}
    forget = {} if version else {"forget_bias": 0.7}
    outputs, double = kernel_and_formula("BlockLSTM" + version, arrays, **settings, **forget)
    for first, second in zip(outputs, double):
        np.testing.assert_allclose(first[:length], second[:length], rtol=0, atol=3e-6)
        assert second.shape == first.shape and not np.any(second[length:])
    np.testing.assert_allclose(outputs[6], double[6], rtol=0, atol=3e-6)  # the kernel leaves only the others undefined
    outputs = [output.astype(np.float32) for output in double]
    arrays += outputs + gradients(30, TIME)
    assert_same_mathematics("BlockLSTMGrad" + version, arrays, limit=1e-5, use_peephole=True)


def test_the_order_of_the_gates_matters():
    arrays = [np.int64(TIME), *lstm_inputs(TIME)]
    _, first = kernel_and_formula("BlockLSTM", arrays, forget_bias=0.0)
    _, second = kernel_and_formula("BlockLSTMV2", arrays, cell_clip=3.0)
    assert np.abs(first[6] - second[6]).max() > 0.1


def test_the_gated_unit_and_its_gradient():
    assert recurrent.gru_cell.__name__ == "gru_cell"
    shapes = [(BATCH, SIZE), (BATCH, UNITS), (SIZE + UNITS, 2 * UNITS), (SIZE + UNITS, UNITS), (2 * UNITS,), (UNITS,)]
    arrays = [numbers(seed, *shape) for seed, shape in enumerate(shapes)]
    outputs, _ = assert_same_mathematics("GRUBlockCell", arrays)
    assert_same_mathematics("GRUBlockCellGrad", arrays + outputs[:3] + [numbers(9, BATCH, UNITS)], limit=1e-5)
