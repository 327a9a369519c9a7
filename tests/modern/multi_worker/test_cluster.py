"""Which worker a process is, from its environment; which GPUs can talk, from a library that stands in for NVIDIA's."""

import json
import types

import pytest

from modern.collectives import gpu_links
from modern.multi_worker import cluster_config
from workloads.support.errors import InputError


@pytest.fixture(autouse=True)
def _no_cluster_of_our_own(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("SLURM_PROCID", raising=False)


def test_tf_config_says_who_we_are(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", cluster_config.config(["a:1", "b:2", "c:3"], 1))
    worker = cluster_config.from_environment()
    assert (worker.index, worker.count, worker.chief) == (1, 3, False)


def test_a_chief_comes_before_the_workers(monkeypatch):
    config = {"cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    worker = cluster_config.from_environment()
    assert (worker.index, worker.count) == (2, 3)


def test_a_slurm_job_says_who_we_are(monkeypatch):
    for name, value in (
        ("SLURM_PROCID", "2"),
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_STEP_NODELIST", "node[1-2]"),
        ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
    ):
        monkeypatch.setenv(name, value)
    worker = cluster_config.from_environment()
    assert (worker.index, worker.count) == (2, 4)
    assert worker.resolver.cluster_spec().as_dict()["worker"][2].startswith("node2:")


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "TF_CONFIG: not set, and no SLURM job"),
        ("{", "TF_CONFIG: got '{', must be JSON"),
        ('{"cluster": {}}', "must be JSON with"),
        (cluster_config.config(["a:1"], 3), "TF_CONFIG task index: got 3, the cluster has 1 of 'worker'"),
        (cluster_config.config(["a:1"], 0, "ps"), "TF_CONFIG task type: got 'ps', allowed: chief, worker"),
    ],
)
def test_another_environment_is_refused(monkeypatch, text, message):
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError) as refused:
        cluster_config.from_environment()
    assert message in str(refused.value)


def test_a_lost_worker_is_named():
    worker = cluster_config.Worker(None, 0, 3)
    told = cluster_config.lost(
        worker, ValueError("from /job:worker/replica:0/task:2:\nrecvmsg:Connection reset by peer. Call")
    )
    assert told == "worker 0 of 3 stops: a worker (worker 2) was lost (Connection reset by peer)"
    assert cluster_config.lost(worker, ValueError("?")) == "worker 0 of 3 stops: a worker was lost (ValueError)"


class Nvml(types.SimpleNamespace):
    """Stands in for `pynvml`: GPUs are numbers; `peers` and `nvlinked` are sets of pairs."""

    NVML_NVLINK_MAX_LINKS = 4

    class NVMLError(Exception):
        """What a GPU without such a link raises."""

    def __init__(self, gpus, peers, nvlinked=(), ancestor=40):
        super().__init__(ended=0)
        self._gpus, self._peers, self._nvlinked, self._ancestor = gpus, set(peers), set(nvlinked), ancestor

    def nvmlInit(self):
        pass

    def nvmlShutdown(self):
        self.ended += 1

    def nvmlDeviceGetCount(self):
        return self._gpus

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetMemoryInfo(self, handle):
        return types.SimpleNamespace(total=2**30)

    def nvmlDeviceGetP2PStatus(self, one, other, index):
        return 0 if {(one, other), (other, one)} & self._peers else 1

    def nvmlDeviceGetTopologyCommonAncestor(self, one, other):
        return self._ancestor

    def nvmlDeviceGetPciInfo(self, handle):
        return types.SimpleNamespace(busId=handle)

    def _ends(self, handle):
        pairs = sorted(pair for pair in self._nvlinked if handle in pair)
        return [one if other == handle else other for one, other in pairs]

    def nvmlDeviceGetNvLinkState(self, handle, link):
        if link >= len(self._ends(handle)):
            raise self.NVMLError()
        return 1

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle, link):
        return types.SimpleNamespace(busId=self._ends(handle)[link])


ALL = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    "nvml, islands, all_reduce, why",
    [
        (Nvml(1, []), [(0,)], "auto", "fewer than two GPUs"),
        (Nvml(4, ALL, ALL), [(0, 1, 2, 3)], "nccl", "over NVLink"),
        (Nvml(4, ALL), [(0, 1, 2, 3)], "nccl", "over PCIe"),
        # System 5's machine: 0 and 2 "cannot enable peer access".
        (Nvml(4, [(0, 1), (2, 3)], ancestor=50), [(0, 1), (2, 3)], "hierarchical_copy", "{0, 1} and {2, 3} reach"),
        (Nvml(3, [(0, 1)]), [(0, 1), (2,)], "nccl", "an odd number"),
        (Nvml(2, []), [(0,), (1,)], "one_device", "no GPU reaches another"),
    ],
)
def test_what_is_read_and_what_it_suggests(nvml, islands, all_reduce, why):
    found, memory = gpu_links.read(nvml)
    assert nvml.ended == 1 and len(memory) == nvml.nvmlDeviceGetCount()
    assert gpu_links.islands(found, len(memory)) == islands
    suggested, reason = gpu_links.suggest(found, len(memory))
    assert suggested == all_reduce and why in reason


def test_a_link_says_how_two_gpus_are_joined():
    found, _ = gpu_links.read(Nvml(3, [(0, 1)], [(0, 1)], ancestor=10))
    assert found[0] == gpu_links.Link(0, 1, True, 1, "one PCIe switch")
    assert found[1] == gpu_links.Link(0, 2, False, 0, "one PCIe switch")


def test_a_servers_environment_is_checked_as_a_workers_is(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", cluster_config.config(["a:1"], 0, "ps"))
    assert cluster_config.tf_config(("chief", "worker", "ps")) == ({"ps": ["a:1"]}, "ps", 0)
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(InputError, match="must be JSON"):
        cluster_config.tf_config(("chief", "worker", "ps"))
