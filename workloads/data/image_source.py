"""Batches of real images: shuffled anew in each epoch, distorted as by 1.x's CIFAR-10 trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workloads.data import distort
from workloads.data.epochs import Epochs, Order
from workloads.models.images import ImageWorkload
from workloads.numerics import random_keys
from workloads.sources import GlobalBatches

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays


class ImageSource(GlobalBatches):
    """Real images, shuffled anew in each epoch, prepared by `data.distort`.

    Args:
      job: a `Job` of an `ImageWorkload`.
      images: uint8 [count, height, width, channels].
      labels: class numbers [count].
    """

    def __init__(self, job: Job, images: np.ndarray, labels: np.ndarray) -> None:
        super().__init__(job)
        self._images = images
        self._labels = labels
        order = Order(job.global_batch, job.seed, last_batch=job.workload.last_batch)
        self._epochs = Epochs(len(labels), order)

    def ends(self) -> tuple[int, ...]:
        return self._epochs.ends()

    def steps(self, epochs: int) -> int | None:
        return self._epochs.steps(epochs)

    def _examples(self, step: int) -> Arrays:
        workload = self._job.workload
        assert isinstance(workload, ImageWorkload)  # `folder.open_folder` refuses others
        chosen = self._epochs.rows(step)
        rng = random_keys.generator("distort", self._job.seed, step)
        images = distort.prepare_images(self._images[chosen], workload, rng)
        return {"images": images, "labels": self._labels[chosen]}
