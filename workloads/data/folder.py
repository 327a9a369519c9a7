"""Opens `--data_dir`: recognises the data set in the folder and adapts the workload to its images."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from typing import NamedTuple

import numpy as np

from workloads.data import cifar10, idx
from workloads.models.images import ImageWorkload
from workloads.support.errors import InputError, require
from workloads.workload import Workload


class ImageFolder(NamedTuple):
    """Real images and the workload that takes them.

    Attributes:
      workload: with as many channels as the images have.
      images: uint8 [count, height, width, channels].
      labels: int32 class numbers [count].
      description: format, number and digest of the images.
    """

    workload: ImageWorkload
    images: np.ndarray
    labels: np.ndarray
    description: str


def open_folder(path: str, workload: Workload) -> ImageFolder:
    """Reads the real images in a folder for an `ImageWorkload`.

    Raises:
      InputError: the workload takes no images, or the folder holds no usable data set.
    """
    if not isinstance(workload, ImageWorkload):
        raise InputError(f"--data_dir: got {path!r}, workload {workload.name!r} does not take images; leave it out")
    require(os.path.isdir(path), "--data_dir", path, "no such folder")
    readers = [reader for reader in (cifar10, idx) if reader.is_present(path)]
    require(readers, "--data_dir", path, f"holds neither CIFAR-10's {cifar10.FILES[0]} nor an IDX {idx.IMAGES}")
    images, labels = readers[0].read_training_set(path)
    require(
        labels.max() < workload.classes,
        "--data_dir",
        path,
        f"has label {labels.max()}, the workload has {workload.classes} classes",
    )
    name = readers[0].__name__.rsplit(".", 1)[-1]
    sha = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()[:12]
    workload = dataclasses.replace(workload, channels=images.shape[-1])
    return ImageFolder(workload, images, labels, f"{name}:{len(labels)} images:{sha}")
