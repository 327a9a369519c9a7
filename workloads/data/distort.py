"""The input distortions of 1.x's CIFAR-10 trainer on a numpy batch: crop, flip, brightness, contrast, standardise.

Pure functions of (images, generator): the generator is keyed by seed and step, so both sides see the same
pixels, and so does a run that starts in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from workloads.models.images import ImageWorkload


def prepare_images(images: np.ndarray, workload: ImageWorkload, rng: np.random.RandomState) -> np.ndarray:
    """Prepares images for the model.

    Args:
      images: uint8 [count, height, width, channels].
      workload: an `ImageWorkload`; its `image_size` is cut out (or padded to), at random if it says `distort`.
      rng: generator for this step.

    Returns:
      float32 [count, image_size, image_size, channels], each image with mean 0 and deviation 1.
    """
    images = _pad(images, workload.image_size).astype(np.float32)
    if not workload.distort:
        return standardise(centre_crop(images, workload.image_size))
    images = flip(random_crop(images, workload.image_size, rng), rng)
    return standardise(contrast(brightness(images, 63.0, rng), 0.2, 1.8, rng))


def _pad(images: np.ndarray, size: int) -> np.ndarray:
    rows, columns = (max(0, size - length) for length in images.shape[1:3])
    if not rows and not columns:
        return images
    return np.pad(
        images, [(0, 0), (rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2), (0, 0)], "constant"
    )


def centre_crop(images: np.ndarray, size: int) -> np.ndarray:
    """Returns the middle `size` x `size` pixels of every image."""
    top, left = ((length - size) // 2 for length in images.shape[1:3])
    return images[:, top : top + size, left : left + size]


def random_crop(images: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Cuts a window out of every image, each at its own place.

    Args:
      images: [count, height, width, channels].
      size: height and width of the window.
      rng: generator for this step.

    Returns:
      [count, size, size, channels].
    """
    count, height, width = images.shape[:3]
    tops, lefts = rng.randint(0, height - size + 1, count), rng.randint(0, width - size + 1, count)
    return np.stack([image[top : top + size, left : left + size] for image, top, left in zip(images, tops, lefts)])


def flip(images: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Mirrors half of the images, chosen at random, left to right."""
    chosen = rng.random_sample(len(images)) < 0.5
    return np.where(chosen[:, None, None, None], images[:, :, ::-1], images)


def brightness(images: np.ndarray, limit: float, rng: np.random.RandomState) -> np.ndarray:
    """Adds to every image one number.

    Args:
      images: [count, height, width, channels].
      limit: the number is uniform in [-limit, limit).
      rng: generator for this step.

    Returns:
      images of the same shape.
    """
    return images + rng.uniform(-limit, limit, (len(images), 1, 1, 1)).astype(np.float32)


def contrast(images: np.ndarray, low: float, high: float, rng: np.random.RandomState) -> np.ndarray:
    """Stretches every image about its channel means by one factor.

    Args:
      images: [count, height, width, channels].
      low, high: the factor is uniform in [low, high).
      rng: generator for this step.

    Returns:
      images of the same shape.
    """
    means = images.mean(axis=(1, 2), keepdims=True)
    return (images - means) * rng.uniform(low, high, (len(images), 1, 1, 1)).astype(np.float32) + means


def standardise(images: np.ndarray) -> np.ndarray:
    """Scales each image to mean 0 and deviation 1, the deviation at least 1 / sqrt(pixels), as TensorFlow does."""
    means = images.mean(axis=(1, 2, 3), keepdims=True)
    least = 1.0 / np.sqrt(np.prod(images.shape[1:]))
    deviations = np.maximum(images.std(axis=(1, 2, 3), keepdims=True), least)
    return ((images - means) / deviations).astype(np.float32)
