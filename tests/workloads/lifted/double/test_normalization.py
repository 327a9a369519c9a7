"""Formulas of batch normalization and local response normalization against TensorFlow's float32 kernels."""

import numpy as np
import pytest

from tests.workloads.lifted.double.formula_cases import assert_same_mathematics, kernel_and_formula, numbers
from workloads.lifted.double import normalization

SHAPES = {"NHWC": (3, 4, 5, 2), "NDHWC": (2, 2, 3, 3, 2)}


def batch_norm_inputs(shape):
    return [numbers(0, *shape) + 3, numbers(1, 2), numbers(2, 2), numbers(3, 2), np.abs(numbers(4, 2)) + 1]


@pytest.mark.parametrize("op", ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_batch_normalization_in_training(op, factor):
    assert normalization.batch_norm.__name__ == "batch_norm"
    arrays = batch_norm_inputs(SHAPES["NHWC"])
    assert_same_mathematics(
        op, arrays, range(5), is_training=True, epsilon=0.01, exponential_avg_factor=factor, data_format="NHWC"
    )


@pytest.mark.parametrize("layout", sorted(SHAPES))
def test_batch_normalization_outside_of_training_and_in_three_dimensions(layout):
    arrays = batch_norm_inputs(SHAPES[layout])
    for training in (True, False):
        places = range(5 if training else 3)  # outside of training the kernel leaves the others as they are
        assert_same_mathematics("FusedBatchNormV3", arrays, places, is_training=training, data_format=layout)


def test_the_kept_variance_is_unbiased_and_the_one_for_the_gradient_is_not():
    arrays = [np.float32([[[[1]], [[3]]]]), *(np.ones(1, np.float32) for _ in range(4))]
    _, double = kernel_and_formula("FusedBatchNormV3", arrays, is_training=True)
    assert (double[1][0], double[2][0], double[3][0], double[4][0]) == (2.0, 2.0, 2.0, 1.0)


@pytest.mark.parametrize("op", ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"])
@pytest.mark.parametrize("training", [True, False])
def test_the_gradient_of_batch_normalization(op, training):
    x = numbers(5, *SHAPES["NHWC"]) + 1
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    arrays = [numbers(6, *x.shape), x, numbers(7, 2), mean, variance]
    arrays += [np.zeros(0, np.float32)] if op.endswith("V3") else []
    assert_same_mathematics(op, arrays, range(3), limit=2e-5, is_training=training, epsilon=0.01)


@pytest.mark.parametrize("radius", [1, 2, 9])
def test_local_response_normalization_and_its_gradient(radius):
    settings = {"depth_radius": radius, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    x = numbers(8, 2, 3, 2, 6)
    single, _ = assert_same_mathematics("LRN", [x], **settings)
    assert_same_mathematics("LRNGrad", [numbers(9, *x.shape), x, single[0]], limit=1e-5, **settings)


def test_another_epsilon_is_other_mathematics():
    arrays = batch_norm_inputs(SHAPES["NHWC"])
    single, _ = kernel_and_formula("FusedBatchNorm", arrays, epsilon=0.01)
    _, double = kernel_and_formula("FusedBatchNorm", arrays, epsilon=0.0101)
    assert np.abs(single[0] - double[0]).max() > 1e-5
