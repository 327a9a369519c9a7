"""Checkpoints by name and by object."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tensorflow as tf

from tests.full_disk import full_disk
from workloads.lifted.checkpoint import (
    convert_checkpoint,
    is_object_based,
    read_checkpoint,
    write_by_name,
    write_by_object,
)
from workloads.support.errors import InputError

#: Names with the characters that object-based checkpoints escape.
VALUES = {"net/w.1": np.float32([[1, 2]]), "a.Sb": np.int64(3), "text": np.array("ä")}


def as_lists(values):
    return {name: np.asarray(value).tolist() for name, value in values.items()}


@pytest.mark.parametrize("write, by_object", [(write_by_name, False), (write_by_object, True)])
def test_what_is_written_is_read_under_the_same_names(write, by_object, tmp_path):
    path = str(tmp_path / "model.ckpt")
    values = {name: value for name, value in VALUES.items() if name != "text"}
    write(path, values)
    assert as_lists(read_checkpoint(path)) == as_lists(values)
    assert read_checkpoint(path)["a.Sb"].dtype == np.int64
    assert is_object_based(path) is by_object
    assert sorted(os.listdir(tmp_path)) == ["model.ckpt.data-00000-of-00001", "model.ckpt.index"]


def test_strings_are_kept(tmp_path):
    write_by_object(str(tmp_path / "x"), VALUES)
    assert np.asarray(read_checkpoint(str(tmp_path / "x"))["text"]).item() == "ä".encode("utf-8")


@pytest.mark.parametrize("ending", [".index", ".meta", ".data-00000-of-00001"])
def test_a_checkpoint_is_found_by_any_of_its_files(ending, tmp_path):
    write_by_name(str(tmp_path / "x"), {"w": np.float32(1)})
    assert read_checkpoint(str(tmp_path / "x") + ending) == {"w": 1}


def test_conversion_goes_both_ways(tmp_path):
    by_name, by_object, again = (str(tmp_path / name) for name in ("name", "object", "again"))
    write_by_name(by_name, {"net/w": np.float32([1, 2]), "step": np.int64(3)})
    assert convert_checkpoint(by_name, by_object) == (2, "by object") and is_object_based(by_object)
    assert convert_checkpoint(by_object, again) == (2, "by name") and not is_object_based(again)
    assert as_lists(read_checkpoint(again)) == {"net/w": [1, 2], "step": 3}


def test_what_an_object_based_checkpoint_holds_besides_is_left_out(tmp_path):
    tf.train.Checkpoint(values={"w": tf.Variable(1.0)}, other=tf.Variable(2.0)).write(str(tmp_path / "x"))
    assert read_checkpoint(str(tmp_path / "x")) == {"w": 1.0}


def test_what_cannot_be_used_is_reported(tmp_path):
    with pytest.raises(InputError, match="checkpoint: cannot read"):
        read_checkpoint(str(tmp_path / "nothing"))
    (tmp_path / "damaged.index").write_bytes(b"damaged")
    with pytest.raises(InputError, match="checkpoint: cannot read"):
        read_checkpoint(str(tmp_path / "damaged"))
    with pytest.raises(InputError, match="there is nothing to write"):
        write_by_name(str(tmp_path / "x"), {})


@pytest.mark.parametrize("write", [write_by_name, write_by_object])
def test_a_full_disk_is_an_os_error_and_leaves_nothing(write, tmp_path):
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write(str(tmp_path / "model.ckpt"), {"w": np.zeros(100, np.float32)})
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_that_cannot_be_converted_is_refused_in_one_line(tmp_path):
    source = str(tmp_path / "source")
    write_by_name(source, {"w": np.zeros(100, np.float32)})
    before = sorted(os.listdir(tmp_path))
    with full_disk(), pytest.raises(InputError, match="^--out: cannot write .*out: File too large$"):
        convert_checkpoint(source, str(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == before
