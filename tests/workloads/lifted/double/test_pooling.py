"""Formulas of pooling in three dimensions and of sparse products against TensorFlow's float32 kernels."""

import numpy as np
import pytest

from tests.workloads.lifted.double.formula_cases import assert_same_mathematics, kernel_and_formula, numbers
from workloads.lifted.double import pooling

SETTINGS = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1]}


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_averages_over_the_values_that_each_window_has(padding):
    x = numbers(0, 2, 3, 4, 5, 2)
    single, _ = assert_same_mathematics("AvgPool3D", [x], padding=padding, **SETTINGS)
    arrays = [np.array(x.shape, np.int32), numbers(1, *single[0].shape)]
    assert_same_mathematics("AvgPool3DGrad", arrays, padding=padding, **SETTINGS)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_largest_value_and_where_its_gradient_goes(padding):
    assert pooling.largest_3d.__name__ == "largest_3d"
    x = numbers(2, 2, 3, 4, 5, 2)
    single, double = kernel_and_formula("MaxPool3D", [x], padding=padding, **SETTINGS)
    np.testing.assert_array_equal(single[0], double[0])  # nothing is rounded
    arrays = [x, single[0], numbers(3, *single[0].shape)]
    assert_same_mathematics("MaxPool3DGrad", arrays, padding=padding, **SETTINGS)


def test_a_product_of_matrices_with_many_zeros():
    a, b = numbers(4, 3, 4), numbers(5, 3, 2)
    a[np.abs(a) < 0.5] = 0
    assert_same_mathematics("SparseMatMul", [a, b], transpose_a=True, a_is_sparse=True)
