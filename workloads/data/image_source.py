"""Batches of real images: shuffled anew in each epoch, distorted as system 3 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workloads.data import distort
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
        self._epoch = -1
        self._permutation = np.empty(0, np.int64)

    def ends(self) -> tuple[int, ...]:
        return ((len(self._labels) - 1) // self._job.global_batch,)

    def _order(self, epoch: int) -> np.ndarray:
        """Returns the order of the images in an epoch; the last one asked for is kept."""
        if self._epoch != epoch:
            rng = random_keys.generator("shuffle", self._job.seed, epoch)
            self._epoch, self._permutation = epoch, rng.permutation(len(self._labels))
        return self._permutation

    def _indices(self, step: int) -> np.ndarray:
        size, count = self._job.global_batch, len(self._labels)
        positions = np.arange(step * size, (step + 1) * size)
        return np.array(
            [self._order(epoch)[offset] for epoch, offset in zip((positions // count).tolist(), positions % count)]
        )

    def _examples(self, step: int) -> Arrays:
        workload = self._job.workload
        assert isinstance(workload, ImageWorkload)  # `folder.open_folder` refuses others
        chosen = self._indices(step)
        rng = random_keys.generator("distort", self._job.seed, step)
        images = distort.prepare_images(self._images[chosen], workload, rng)
        return {"images": images, "labels": self._labels[chosen]}
