"""MNIST's IDX format, plain or gzipped: a magic number, the dimensions, then the bytes. Fashion-MNIST comes in it."""

from __future__ import annotations

import functools
import gzip
import operator
import os
import struct
import zlib

import numpy as np

from workloads.support.errors import InputError
from workloads.support.files.input_files import require_regular

IMAGES = "train-images-idx3-ubyte"
LABELS = "train-labels-idx1-ubyte"
UNSIGNED_BYTE = 8
#: Most bytes that a file may expand to: `_MOST_BYTES`, or `_MOST_EXPANSION` times a larger file's. MNIST's expand by 5.
_MOST_BYTES, _MOST_EXPANSION = 256 << 20, 20


def is_present(folder: str) -> bool:
    """Tells whether `folder` looks like it was meant to hold this data set."""
    names = [name + end for name in (IMAGES, LABELS) for end in ("", ".gz")]
    return any(os.path.exists(os.path.join(folder, name)) for name in names)


def read_training_set(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads the training images and labels.

    Returns:
      images uint8 [count, rows, columns, 1], labels int32 [count].

    Raises:
      InputError: a file is missing, damaged, or of another shape, or the two do not belong together.
    """
    images_path, labels_path = _find(folder, IMAGES), _find(folder, LABELS)
    images, labels = read_file(images_path, 3), read_file(labels_path, 1)
    if len(images) != len(labels):
        raise InputError(
            f"--data_dir: {images_path} holds {len(images)} images but {labels_path} holds {len(labels)} labels"
        )
    return images[..., np.newaxis], labels.astype(np.int32)


def read_file(path: str, rank: int) -> np.ndarray:
    """Reads one IDX file of unsigned bytes with `rank` dimensions, as an array."""
    packed = require_regular(path, "--data_dir")
    header = 4 + 4 * rank
    try:
        with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as file:
            begin = file.read(header)
            if len(begin) < header or begin[:4] != bytes([0, 0, UNSIGNED_BYTE, rank]):
                raise InputError(f"--data_dir: {path} is not an IDX file of unsigned bytes with {rank} dimensions")
            shape = struct.unpack(f">{rank}I", begin[4:])
            promised = functools.reduce(operator.mul, shape)  # numpy's product would overflow
            if promised > max(_MOST_BYTES, _MOST_EXPANSION * packed) or not promised:
                raise InputError(f"--data_dir: {path} has {packed} bytes, its header {shape} promises {promised}")
            # Never all that a gzip file expands to: two megabytes of it can be two gigabytes.
            content = file.read(promised)
            longer = bool(file.read(1))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"--data_dir: cannot read {path}: {error}")
    if len(content) != promised or longer:
        found = f"more than {promised}" if longer else str(len(content))
        raise InputError(
            f"--data_dir: {path} has {found} bytes of data, its header {shape} promises {promised}: truncated?"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _find(folder: str, name: str) -> str:
    for candidate in (name, name + ".gz"):
        path = os.path.join(folder, candidate)
        if os.path.exists(path):
            return path
    raise InputError(f"--data_dir: {os.path.join(folder, name)} is missing (plain or .gz)")
