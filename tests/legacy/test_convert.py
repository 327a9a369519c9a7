"""Checkpoints from one era to the other and back: nothing lost."""

import os
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from tests import old_programs
from workloads.lifted import checkpoint
from workloads.lifted.checkpoint import convert_checkpoint
from workloads.support.errors import InputError


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_there_and_back_is_bit_identical(name, tmp_path):
    old = old_programs.path(name, "model.ckpt")
    assert convert_checkpoint(old, str(tmp_path / "new"))[1] == "by object"
    assert convert_checkpoint(str(tmp_path / "new"), str(tmp_path / "old"))[1] == "by name"
    before, after = checkpoint.read_checkpoint(old), checkpoint.read_checkpoint(str(tmp_path / "old"))
    assert set(before) == set(after) and before
    for variable, value in before.items():
        assert value.dtype == after[variable].dtype and value.shape == after[variable].shape
        assert value.tobytes() == after[variable].tobytes(), variable


def test_restores_with_tf_train_checkpoint(tmp_path):
    convert_checkpoint(old_programs.path("c_queue_ema", "model.ckpt"), str(tmp_path / "new"))
    weight = tf.Variable(tf.zeros([3, 3, 2, 4]))
    tf.train.Checkpoint(values={"conv1/weights": weight}).read(str(tmp_path / "new")).expect_partial()
    expected = checkpoint.read_checkpoint(old_programs.path("c_queue_ema", "model.ckpt"))["conv1/weights"]
    assert (weight.numpy() == expected).all() and np.abs(expected).max() > 0


def test_names_with_dots_survive(tmp_path):
    values = {"a.b/c.S/d": np.arange(3, dtype=np.int64), "..": np.float32(2.5)}
    checkpoint.write_by_object(str(tmp_path / "x"), values)
    assert {n: v.tolist() for n, v in checkpoint.read_checkpoint(str(tmp_path / "x")).items()} == {
        "a.b/c.S/d": [0, 1, 2],
        "..": 2.5,
    }


def test_tensorflow_1_restores_what_was_converted_back(tmp_path, legacy_python):
    """A real 1.x Saver reads the result."""
    convert_checkpoint(old_programs.path("d_batch_norm", "model.ckpt"), str(tmp_path / "new"))
    convert_checkpoint(str(tmp_path / "new"), str(tmp_path / "old"))
    script = (
        "import tensorflow as tf, sys\n"
        "v = tf.Variable(tf.zeros([4, 3]), name='fc/kernel')\n"
        "m = tf.Variable(tf.zeros([4, 3]), name='fc/kernel/Momentum')\n"
        "s = tf.Session(); tf.train.Saver().restore(s, sys.argv[1]); print(abs(s.run(v)).sum() > 0)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TF")}  # ours set TF2_BEHAVIOR
    command = [legacy_python, "-c", script, str(tmp_path / "old")]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.stdout.strip().endswith("True"), run.stderr


def test_refuses_what_is_no_checkpoint(tmp_path):
    with pytest.raises(InputError, match="checkpoint: cannot read"):
        convert_checkpoint(str(tmp_path / "nothing"), str(tmp_path / "out"))
    truncated = tmp_path / "model.ckpt.index"
    truncated.write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="checkpoint: cannot read"):
        convert_checkpoint(str(tmp_path / "model.ckpt"), str(tmp_path / "out"))
    assert not os.path.exists(tmp_path / "out.index")
