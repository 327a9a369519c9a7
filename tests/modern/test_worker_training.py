"""A worker's place in a cluster, as the environment says it, and the end of messages about lost workers."""

import pytest
from absl import flags

from modern import worker_training
from tests.own_flags import set_flags


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


@pytest.mark.parametrize(
    "name, value, expected", [("TF_CONFIG", "{}", True), ("TF_CONFIG", "", False), ("SLURM_PROCID", "0", True)]
)
def test_the_environment_says_whether_there_are_other_workers(monkeypatch, name, value, expected):
    assert not worker_training.in_cluster()
    monkeypatch.setenv(name, value)
    assert worker_training.in_cluster() is expected


def test_only_a_run_with_checkpoints_can_go_on():
    assert worker_training.resume_hint() == ""
    with set_flags(flags.FLAGS, checkpoint_dir="run"):
        assert worker_training.resume_hint() == "; start again to go on from the last checkpoint"
