"""Cores that the replicas of one CPU share."""

import subprocess
import sys

import pytest

from workloads.support.machine import threads


@pytest.fixture
def six_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 6)
    monkeypatch.delenv(threads.VARIABLE, raising=False)


def test_replicas_share_the_cores_and_one_replica_leaves_them_to_tensorflow(six_cores):
    assert [threads.share_of_cores(replicas) for replicas in (1, 2, 3, 4, 8)] == [0, 3, 2, 1, 1]


def test_the_users_number_is_left_alone(six_cores, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, "5")
    assert threads.share_of_cores(2) == 0


def test_this_process_has_a_core():
    assert threads.cores() >= 1


def test_once_tensorflow_runs_its_number_stays():
    import tensorflow as tf

    tf.constant(0.0)
    before = tf.config.threading.get_intra_op_parallelism_threads()
    threads.set_within_ops(before + 1)
    threads.set_within_ops(0)
    assert tf.config.threading.get_intra_op_parallelism_threads() == before


def test_the_number_is_set_before_tensorflow_runs():
    program = (
        "import tensorflow as tf\nfrom workloads.support.machine import threads\nthreads.set_within_ops(3)\n"
        "tf.constant(0.0)\nprint(tf.config.threading.get_intra_op_parallelism_threads())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["3"]
