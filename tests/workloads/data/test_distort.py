import dataclasses

import numpy as np
import pytest

from workloads.data import distort
from workloads.models.cifar_cnn import SMALL
from workloads.numerics import random_keys

IMAGES = np.random.RandomState(0).randint(0, 256, (6, 32, 32, 3)).astype(np.uint8)


def test_prepare_is_a_function_of_the_generators_key():
    first, again, other = (distort.prepare_images(IMAGES, SMALL, random_keys.generator(key)) for key in "aab")
    assert first.shape == (6, 24, 24, 3)
    assert first.dtype == np.float32
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_standardised_images_have_mean_zero_and_deviation_one():
    ready = distort.prepare_images(IMAGES, SMALL, random_keys.generator("a"))
    np.testing.assert_allclose(ready.mean(axis=(1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(ready.std(axis=(1, 2, 3)), 1, rtol=1e-5)


def test_a_uniform_image_is_not_divided_by_zero():
    assert np.all(distort.standardise(np.full((1, 8, 8, 1), 7.0, np.float32)) == 0)


def test_flip_mirrors_some_and_leaves_the_rest():
    flipped = distort.flip(IMAGES, random_keys.generator("flip"))
    mirrored = [np.array_equal(f, i[:, ::-1]) for f, i in zip(flipped, IMAGES)]
    same = [np.array_equal(f, i) for f, i in zip(flipped, IMAGES)]
    assert all(m != s for m, s in zip(mirrored, same))
    assert any(mirrored) and any(same)


def test_random_crops_are_windows_of_the_image():
    crop = distort.random_crop(IMAGES[:1], 24, random_keys.generator("crop"))[0]
    windows = (IMAGES[0, t : t + 24, s : s + 24] for t in range(9) for s in range(9))
    assert any(np.array_equal(crop, window) for window in windows)


def test_brightness_moves_all_pixels_and_contrast_keeps_the_mean():
    pixels = IMAGES.astype(np.float32)
    moved = distort.brightness(pixels, 63.0, random_keys.generator("b")) - pixels
    assert np.ptp(moved, axis=(1, 2, 3)).max() < 1e-3
    assert len(np.unique(moved[:, 0, 0, 0])) == 6
    stretched = distort.contrast(pixels, 0.2, 1.8, random_keys.generator("c"))
    np.testing.assert_allclose(stretched.mean(axis=(1, 2)), pixels.mean(axis=(1, 2)), rtol=1e-3)


@pytest.mark.parametrize("size", [24, 32, 40])
def test_without_distortion_the_middle_is_cut_out_or_padded(size):
    workload = dataclasses.replace(SMALL, image_size=size, distort=False)
    assert distort.prepare_images(IMAGES, workload, None).shape == (6, size, size, 3)
