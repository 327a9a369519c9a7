"""Scanned digits as images."""

import sys

import numpy as np
import pytest

from parity.experiments import images
from workloads.support.errors import InputError


def test_digits_are_grey_images_of_ten_classes():
    digits = images.scanned_digits()
    assert digits.images.shape == (1797, 32, 32, 1) and digits.images.dtype == np.uint8 and digits.images.max() == 255
    assert set(digits.labels.tolist()) == set(range(10)) and digits.labels.dtype == np.int32
    assert "1,797" in digits.description


def test_a_scanned_pixel_is_a_square():
    image = images.scanned_digits().images[0, :, :, 0]
    squares = image.reshape(8, 4, 8, 4)
    assert (squares == squares[:, :1, :, :1]).all() and len(set(image.ravel().tolist())) > 2


def test_without_scikit_learn_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InputError, match="--data_dir: not given.*pip install"):
        images.scanned_digits()
