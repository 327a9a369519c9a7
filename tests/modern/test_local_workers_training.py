"""Workers on this machine: their places in the cluster, their status, and what ends them."""

import json
import os
import signal
from typing import NamedTuple, Optional

import pytest
from absl import flags

from modern import local_workers_training
from tests.own_flags import set_flags
from workloads.support.errors import Lost
from workloads.support.machine import environment
from workloads.support.processes import child_processes, child_side


@pytest.fixture(autouse=True)
def _without_tensorflow(monkeypatch):
    """These children need none, and would take seconds to import it."""
    monkeypatch.setattr(child_processes, "run_child", _run_without_tensorflow)
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


def _run_without_tensorflow(*arguments):
    environment.prepare = lambda exact: None
    child_side.run_child(*arguments)


class FakeWorker(NamedTuple):
    """A worker's process number."""

    pid: Optional[int]


def index(speaker, argv):
    """Ends with the worker's number as its status."""
    cluster = json.loads(os.environ["TF_CONFIG"])
    assert len(cluster["cluster"]["worker"]) == 3
    speaker.say(cluster["task"]["index"])


def abort(speaker, argv):
    """Worker 1 ends by a signal; the others wait for it."""
    if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    speaker.listen()


def test_each_worker_has_its_place_and_the_largest_status_counts():
    with set_flags(flags.FLAGS, workers=3):
        assert local_workers_training.train_on_local_workers(index) == 2


@pytest.mark.parametrize("folder, hint", [(None, ""), ("run", "; start again to go on from the last checkpoint")])
def test_a_lost_worker_ends_the_others(folder, hint):
    with set_flags(flags.FLAGS, workers=2, checkpoint_dir=folder), pytest.raises(Lost) as lost:
        local_workers_training.train_on_local_workers(abort)
    assert str(lost.value).startswith("worker 1 (process ")
    assert str(lost.value).endswith(f"ended by signal 9; the others were stopped{hint}")


def test_the_first_signal_is_passed_on_to_the_workers_as_sigterm(monkeypatch):
    sent = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    workers = [FakeWorker(11), FakeWorker(None), FakeWorker(12)]  # the second has not started
    with set_flags(flags.FLAGS, checkpoint_dir="run"):
        forwarder = local_workers_training.SignalForwarder(workers)
    try:
        assert forwarder.received is None
        signal.raise_signal(signal.SIGINT)
    finally:
        forwarder.close()
    assert forwarder.received == signal.SIGINT
    assert sent == [(11, signal.SIGTERM), (12, signal.SIGTERM)]


def test_without_checkpoints_ctrl_c_is_not_passed_on():
    before = signal.getsignal(signal.SIGINT)
    forwarder = local_workers_training.SignalForwarder([])
    try:
        assert signal.getsignal(signal.SIGINT) == before
        assert signal.getsignal(signal.SIGTERM) != before
    finally:
        forwarder.close()
