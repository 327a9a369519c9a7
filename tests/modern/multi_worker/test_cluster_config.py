"""The place of a process in its cluster, read from its environment."""

import doctest
import json

import pytest

from modern.collectives.worker import Worker
from modern.multi_worker import cluster_config
from workloads.support.errors import InputError


@pytest.fixture(autouse=True)
def _no_cluster_of_our_own(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("SLURM_PROCID", raising=False)


def test_tf_config_says_who_we_are(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", cluster_config.tf_config_text(["a:1", "b:2", "c:3"], 1))
    worker = cluster_config.worker_from_environment()
    assert (worker.index, worker.count, worker.chief) == (1, 3, False)


def test_a_chief_comes_before_the_workers(monkeypatch):
    config = {"cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    worker = cluster_config.worker_from_environment()
    assert (worker.index, worker.count) == (2, 3)


def test_workers_on_one_machine_are_counted(monkeypatch):
    for index, on_machine in enumerate([2, 1, 2]):
        monkeypatch.setenv("TF_CONFIG", cluster_config.tf_config_text(["a:1", "b:2", "a:3"], index))
        assert cluster_config.worker_from_environment().on_machine == on_machine


def test_a_slurm_job_says_who_we_are(monkeypatch):
    for name, value in (
        ("SLURM_PROCID", "2"),
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_STEP_NODELIST", "node[1-2]"),
        ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
    ):
        monkeypatch.setenv(name, value)
    worker = cluster_config.worker_from_environment()
    assert (worker.index, worker.count) == (2, 4)
    assert worker.resolver.cluster_spec().as_dict()["worker"][2].startswith("node2:")


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "TF_CONFIG: not set, and no SLURM job"),
        ("{", "TF_CONFIG: got '{', must be JSON"),
        ('{"cluster": {}}', "must be JSON with"),
        (cluster_config.tf_config_text(["a:1"], 3), "TF_CONFIG task index: got 3, the cluster has 1 of 'worker'"),
        (cluster_config.tf_config_text(["a:1"], 0, "ps"), "TF_CONFIG task type: got 'ps', allowed: chief, worker"),
    ],
)
def test_another_environment_is_refused(monkeypatch, text, message):
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError) as refused:
        cluster_config.worker_from_environment()
    assert message in str(refused.value)


def test_a_lost_worker_is_named():
    worker = Worker(None, 0, 3)
    told = cluster_config.lost_worker_message(
        worker, ValueError("from /job:worker/replica:0/task:2:\nrecvmsg:Connection reset by peer. Call")
    )
    assert told == "worker 0 of 3 stops: a worker (worker 2) was lost (Connection reset by peer)"
    assert (
        cluster_config.lost_worker_message(worker, ValueError("?"))
        == "worker 0 of 3 stops: a worker was lost (ValueError)"
    )


def test_a_servers_environment_is_checked_as_a_workers_is(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", cluster_config.tf_config_text(["a:1"], 0, "ps"))
    assert cluster_config.task_from_environment(("chief", "worker", "ps")) == cluster_config.Task(
        {"ps": ["a:1"]}, "ps", 0
    )
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(InputError, match="must be JSON"):
        cluster_config.task_from_environment(("chief", "worker", "ps"))


def test_without_tf_config_there_is_no_task():
    assert cluster_config.task_from_environment(("worker",)) is None


@pytest.mark.parametrize(
    "cluster, job, index, number",
    [
        ({"worker": ["a:1", "b:2"]}, "worker", 1, 1),
        ({"chief": ["a:1"], "worker": ["b:2"]}, "chief", 0, 0),
        ({"chief": ["a:1"], "worker": ["b:2"]}, "worker", 0, 1),
    ],
)
def test_workers_are_numbered_after_the_chief(cluster, job, index, number):
    assert cluster_config.worker_number(cluster, job, index) == number


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"cluster": {}, "task": {"type": "worker"}}',
        '{"cluster": {}, "task": {"type": "worker", "index": "first"}}',
    ],
)
def test_incomplete_json_is_refused(text):
    with pytest.raises(InputError, match="must be JSON"):
        cluster_config.parse_tf_config(text, ("worker",))


@pytest.mark.parametrize(
    "message, reason",
    [
        ("{{node x}} failed to connect to all addresses; last error", "failed to connect to all addresses"),
        ("Task 1 heartbeat timeout. This may be", "Task 1 heartbeat timeout"),
        ("something else", "OSError"),
    ],
)
def test_the_end_of_a_connection_is_extracted_from_a_long_message(message, reason):
    assert cluster_config.connection_failure(OSError(message)) == reason


def test_a_worker_does_not_name_itself_as_lost():
    error = OSError("from /job:worker/replica:0/task:1 to /job:worker/replica:0/task:0: Socket closed")
    assert cluster_config.lost_worker_message(Worker(None, 1, 2), error).startswith(
        "worker 1 of 2 stops: a worker (worker 0) was lost"
    )


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(cluster_config).failed == 0
