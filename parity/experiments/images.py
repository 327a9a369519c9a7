"""Real images for studies where the user has given none."""

from __future__ import annotations

import numpy as np

from workloads.support.errors import InputError

SIZE = 32


def digits():
    """scikit-learn's 1,797 scanned digits as uint8 [1797, 32, 32, 1] and labels int32: each of 8x8 pixels four wide.

    Raises:
      InputError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError('--data_dir: not given, and scikit-learn is not here: pip install "tower-parity[study]"')
    found = load_digits()
    grey = np.asarray(found.images * (255 / found.images.max()), np.uint8)
    return np.kron(grey, np.ones((1, SIZE // 8, SIZE // 8), np.uint8))[..., np.newaxis], found.target.astype(np.int32)
