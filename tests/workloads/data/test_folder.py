import dataclasses

import numpy as np
import pytest

from tests.cases import Dyadic
from workloads.data import folder, idx
from workloads.models import cifar_cnn
from workloads.support.errors import InputError


def write_digits(path, labels=(0, 1, 2, 9)):
    """Writes a tiny IDX data set of grey 4x4 images."""
    images = np.arange(len(labels) * 16, dtype=np.uint8).reshape(len(labels), 4, 4)
    for name, array in ((idx.IMAGES, images), (idx.LABELS, np.array(labels, np.uint8))):
        header = bytes([0, 0, idx.UNSIGNED_BYTE, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        (path / name).write_bytes(header + array.tobytes())
    return images


def test_the_workload_gets_as_many_channels_as_the_images_have(tmp_path):
    images = write_digits(tmp_path)
    opened = folder.open_folder(str(tmp_path), cifar_cnn.SMALL)
    assert opened.workload == dataclasses.replace(cifar_cnn.SMALL, channels=1)
    np.testing.assert_array_equal(opened.images[..., 0], images)
    assert opened.labels.tolist() == [0, 1, 2, 9]
    assert opened.description.startswith("idx:4 images:")


def test_other_images_have_another_description(tmp_path):
    write_digits(tmp_path)
    first = folder.open_folder(str(tmp_path), cifar_cnn.SMALL).description
    write_digits(tmp_path, (0, 1, 2, 8))
    assert folder.open_folder(str(tmp_path), cifar_cnn.SMALL).description != first


def test_more_labels_than_classes_are_refused(tmp_path):
    write_digits(tmp_path)
    with pytest.raises(InputError, match="has label 9, the workload has 5 classes"):
        folder.open_folder(str(tmp_path), dataclasses.replace(cifar_cnn.SMALL, classes=5))


def test_a_workload_without_images_and_a_folder_without_data_are_refused(tmp_path):
    with pytest.raises(InputError, match="workload 'dyadic' does not take images"):
        folder.open_folder(str(tmp_path), Dyadic())
    with pytest.raises(InputError, match="holds neither CIFAR-10's"):
        folder.open_folder(str(tmp_path), cifar_cnn.SMALL)
    with pytest.raises(InputError, match="no such folder"):
        folder.open_folder(str(tmp_path / "nowhere"), cifar_cnn.SMALL)
