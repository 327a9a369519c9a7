"""Opens `--data_dir`: says which data set is in the folder and fits the workload to its images."""

from __future__ import annotations

import dataclasses
import hashlib
import os

from workloads.data import cifar10, idx
from workloads.models.images import ImageWorkload
from workloads.support.errors import require


def open_folder(path, workload):
    """The real images in `path`, and `workload` with as many channels as they have.

    Returns:
      (workload, images, labels, description); images uint8 [count, height, width, channels], labels int32
      [count]; the description names format, count and a digest of the contents.

    Raises:
      InputError: the workload takes no images, or the folder holds no usable data set.
    """
    require(
        isinstance(workload, ImageWorkload),
        "--data_dir",
        path,
        f"workload {workload.name!r} does not take images; leave it out",
    )
    require(os.path.isdir(path), "--data_dir", path, "no such folder")
    readers = [reader for reader in (cifar10, idx) if reader.present(path)]
    require(readers, "--data_dir", path, f"holds neither CIFAR-10's {cifar10.FILES[0]} nor an IDX {idx.IMAGES}")
    images, labels = readers[0].read(path)
    require(
        labels.max() < workload.classes,
        "--data_dir",
        path,
        f"has label {labels.max()}, the workload has {workload.classes} classes",
    )
    name = readers[0].__name__.rsplit(".", 1)[-1]
    sha = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()[:12]
    workload = dataclasses.replace(workload, channels=images.shape[-1])
    return workload, images, labels, f"{name}:{len(labels)} images:{sha}"
