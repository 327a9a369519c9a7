"""Formula of bilinear resizing against TensorFlow's float32 kernel."""

import numpy as np
import pytest

from tests.workloads.lifted.double.formula_cases import assert_same_mathematics, kernel_and_formula, numbers
from workloads.lifted.double import resizing

WAYS = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


@pytest.mark.parametrize("way", WAYS, ids=["plain", "aligned", "half pixels"])
@pytest.mark.parametrize("size", [(7, 4), (2, 3), (1, 5)])
def test_images_and_gradients(way, size):
    images = numbers(0, 2, 3, 5, 2)
    assert_same_mathematics("ResizeBilinear", [images, np.array(size, np.int32)], **way)
    assert_same_mathematics("ResizeBilinearGrad", [numbers(1, 2, *size, 2), images], **way)


def test_the_three_ways_differ():
    assert resizing.bilinear.__name__ == "bilinear"
    images = numbers(0, 1, 3, 3, 1)
    results = [kernel_and_formula("ResizeBilinear", [images, np.array([5, 5], np.int32)], **way)[1][0] for way in WAYS]
    assert all(np.abs(results[i] - results[i - 1]).max() > 0.01 for i in range(3))
