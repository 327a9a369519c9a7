"""Real images for the study where the user has given none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workloads.support.errors import InputError

#: Height and width of the images; each of the 8x8 scanned pixels becomes a square.
SIZE = 32


class LabelledImages(NamedTuple):
    """Images with their classes.

    Attributes:
      images: uint8 [count, height, width, channels].
      labels: int32 [count].
      description: what the images are, for the report.
    """

    images: np.ndarray
    labels: np.ndarray
    description: str


def scanned_digits() -> LabelledImages:
    """Returns scikit-learn's 1,797 scanned digits as images [1797, 32, 32, 1].

    Raises:
      InputError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError('--data_dir: not given, and scikit-learn is not here: pip install "tower-parity[study]"')
    digits = load_digits()
    grey = np.asarray(digits.images * (255 / digits.images.max()), np.uint8)
    images = np.kron(grey, np.ones((1, SIZE // 8, SIZE // 8), np.uint8))[..., np.newaxis]
    return LabelledImages(images, digits.target.astype(np.int32), "scikit-learn's 1,797 scanned digits")
