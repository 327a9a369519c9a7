"""CIFAR-10's binary version: records of one label byte and 3072 pixel bytes, channel after channel."""

from __future__ import annotations

import os

import numpy as np

from workloads.support.errors import InputError
from workloads.support.files.input_files import require_regular

FILES = ("data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin")
RECORD = 1 + 3 * 32 * 32
#: The most records of one file; CIFAR-10's own have 10,000.
MOST_RECORDS = 50000


def is_present(folder: str) -> bool:
    """Tells whether `folder` looks like it was meant to hold this data set."""
    return any(os.path.exists(os.path.join(folder, name)) for name in FILES)


def read_training_set(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads the training images and labels.

    Returns:
      images uint8 [count, 32, 32, 3], labels int32 [count].

    Raises:
      InputError: a file is missing, empty, or not a whole number of records, or a label is above 9.
    """
    parts = [read_file(os.path.join(folder, name)) for name in FILES]
    return np.concatenate([images for images, _ in parts]), np.concatenate([labels for _, labels in parts])


def read_file(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads the images and labels of one file of records; see `read_training_set`."""
    size = require_regular(path, "--data_dir")
    if size > MOST_RECORDS * RECORD:
        raise InputError(f"--data_dir: {path} has {size} bytes, CIFAR-10's files have {10000 * RECORD}")
    try:
        content = np.fromfile(path, np.uint8)
    except OSError as error:
        raise InputError(f"--data_dir: cannot read {path}: {error.strerror}")
    if content.size == 0 or content.size % RECORD:
        raise InputError(
            f"--data_dir: {path} has {content.size} bytes, not a whole number of {RECORD}-byte records: truncated?"
        )
    records = content.reshape(-1, RECORD)
    labels = records[:, 0].astype(np.int32)
    if labels.max() > 9:
        raise InputError(f"--data_dir: {path} holds label {labels.max()}, CIFAR-10's are 0 to 9")
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels
