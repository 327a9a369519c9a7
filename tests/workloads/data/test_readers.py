import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from workloads.data import cifar10, folder, idx
from workloads.selection import registry
from workloads.support.errors import InputError


def write_cifar(path, count=3, label=1):
    for number, name in enumerate(cifar10.FILES):
        record = bytes([label]) + bytes(range(number, number + 3)) * 1024
        (path / name).write_bytes(record * count)


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_idx(path, images=None, labels=None, compress=False):
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28) if images is None else images
    labels = np.array([3, 4], np.uint8) if labels is None else labels
    for name, array in ((idx.IMAGES, images), (idx.LABELS, labels)):
        content = idx_bytes(array)
        (path / (name + ".gz" * compress)).write_bytes(gzip.compress(content) if compress else content)


def test_cifar_records_are_channel_after_channel(tmp_path):
    record = bytes([7]) + bytes([10]) * 1024 + bytes([20]) * 1024 + bytes([30]) * 1024
    for name in cifar10.FILES:
        (tmp_path / name).write_bytes(record)
    images, labels = cifar10.read_training_set(str(tmp_path))
    assert images.shape == (5, 32, 32, 3)
    assert list(images[0, 0, 0]) == [10, 20, 30]
    assert list(labels) == [7] * 5


@pytest.mark.parametrize("compress", [False, True])
def test_idx_plain_and_gzipped(tmp_path, compress):
    write_idx(tmp_path, compress=compress)
    images, labels = idx.read_training_set(str(tmp_path))
    assert images.shape == (2, 28, 28, 1)
    assert images[0, 0, 5, 0] == 5
    assert list(labels) == [3, 4]


def damage_missing(path):
    (path / cifar10.FILES[3]).unlink()


def damage_truncated(path):
    content = (path / cifar10.FILES[3]).read_bytes()
    (path / cifar10.FILES[3]).write_bytes(content[:-5])


def damage_empty(path):
    (path / cifar10.FILES[3]).write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_missing, damage_truncated, damage_empty])
def test_a_damaged_cifar_file_is_named(tmp_path, damage):
    write_cifar(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=cifar10.FILES[3]):
        cifar10.read_training_set(str(tmp_path))


def test_a_label_above_nine_is_refused(tmp_path):
    write_cifar(tmp_path, label=10)
    with pytest.raises(InputError, match="label 10"):
        cifar10.read_training_set(str(tmp_path))


def rewrite(path, change):
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda content: content[:-1], "truncated"),
        (lambda content: content + b"x", "truncated"),
        (lambda content: content[:6], "not an IDX file"),
        (lambda content: b"\x00\x00\x0d\x03" + content[4:], "not an IDX file"),
    ],
)
def test_a_damaged_idx_file_is_named(tmp_path, change, message):
    write_idx(tmp_path)
    rewrite(tmp_path / idx.IMAGES, change)
    with pytest.raises(InputError, match=f"{idx.IMAGES}.*{message}"):
        idx.read_training_set(str(tmp_path))


def test_a_truncated_gzip_file_is_named(tmp_path):
    write_idx(tmp_path, compress=True)
    rewrite(tmp_path / (idx.IMAGES + ".gz"), lambda content: content[:-20])
    with pytest.raises(InputError, match=idx.IMAGES):
        idx.read_training_set(str(tmp_path))


def test_images_and_labels_must_belong_together(tmp_path):
    write_idx(tmp_path, labels=np.array([1, 2, 3], np.uint8))
    with pytest.raises(InputError, match="2 images .* 3 labels"):
        idx.read_training_set(str(tmp_path))


def test_the_folder_says_what_it_holds_and_fits_the_workload(tmp_path):
    write_idx(tmp_path)
    workload, images, _, description = folder.open_folder(str(tmp_path), registry.get("resnet18"))
    assert workload.channels == images.shape[-1] == 1
    assert description.startswith("idx:2 images:")


@pytest.mark.parametrize(
    "name, path, message",
    [
        ("regression", ".", "does not take images"),
        ("resnet18", "no/such/folder", "no such folder"),
        ("resnet18", ".", "holds neither"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, name, path, message):
    with pytest.raises(InputError, match=message):
        folder.open_folder(str(tmp_path / path), registry.get(name))


def test_a_gzip_bomb_is_refused_before_it_expands(tmp_path):
    expanded = 64 << 20
    for header in (struct.pack(">3I", 1, 28, 28), struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)):
        content = bytes([0, 0, 8, 3]) + header + bytes(expanded)
        (tmp_path / (idx.IMAGES + ".gz")).write_bytes(gzip.compress(content))
        del content
        tracemalloc.start()
        with pytest.raises(InputError, match="promises"):
            idx.read_file(str(tmp_path / (idx.IMAGES + ".gz")), 3)
        assert tracemalloc.get_traced_memory()[1] < expanded // 4
        tracemalloc.stop()


def test_a_file_of_too_many_records_is_not_read(tmp_path):
    with open(tmp_path / "data_batch_1.bin", "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(InputError, match="has 3221225472 bytes, CIFAR-10's files have 30730000"):
        cifar10.read_file(str(tmp_path / "data_batch_1.bin"))
