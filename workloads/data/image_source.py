"""Batches of real images: shuffled anew in each epoch, distorted as system 3 does."""

from __future__ import annotations

import numpy as np

from workloads.data import distort
from workloads.numerics import random_keys
from workloads.sources import Source


class ImageSource(Source):
    """Real images, shuffled anew in each epoch, prepared by `data.distort`."""

    def __init__(self, job, images, labels):
        """`images` uint8 [count, height, width, channels], `labels` int [count]."""
        super().__init__(job)
        self._images = images
        self._labels = labels
        self._epoch = (-1, None)

    def _order(self, epoch):
        if self._epoch[0] != epoch:
            rng = random_keys.generator("shuffle", self._job.seed, epoch)
            self._epoch = (epoch, rng.permutation(len(self._labels)))
        return self._epoch[1]

    def _indices(self, step):
        size, count = self._job.global_batch, len(self._labels)
        positions = np.arange(step * size, (step + 1) * size)
        return np.array([self._order(epoch)[offset] for epoch, offset in zip(positions // count, positions % count)])

    def _examples(self, step):
        chosen = self._indices(step)
        rng = random_keys.generator("distort", self._job.seed, step)
        images = distort.prepare(self._images[chosen], self._job.workload, rng)
        return {"images": images, "labels": self._labels[chosen]}
