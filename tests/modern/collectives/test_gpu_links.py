"""Links between GPUs, from a library that stands in for NVIDIA's."""

import doctest
import types

import pytest

from modern.collectives import gpu_links


class Nvml(types.SimpleNamespace):
    """Stands in for `pynvml`: GPUs are numbers; `peers` and `nvlinked` are sets of two GPUs."""

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
        # A machine whose log is in a write-up: 0 and 2 "cannot enable peer access".
        (Nvml(4, [(0, 1), (2, 3)], ancestor=50), [(0, 1), (2, 3)], "hierarchical_copy", "{0, 1} and {2, 3} reach"),
        (Nvml(3, [(0, 1)]), [(0, 1), (2,)], "nccl", "an odd number"),
        (Nvml(2, []), [(0,), (1,)], "one_device", "no GPU reaches another"),
    ],
)
def test_what_is_read_and_what_it_suggests(nvml, islands, all_reduce, why):
    found, memory = gpu_links.read_gpus(nvml)
    assert nvml.ended == 1 and len(memory) == nvml.nvmlDeviceGetCount()
    assert gpu_links.peer_islands(found, len(memory)) == islands
    suggested, reason = gpu_links.suggest_all_reduce(found, len(memory))
    assert suggested == all_reduce and why in reason


def test_a_link_says_how_two_gpus_are_joined():
    found, _ = gpu_links.read_gpus(Nvml(3, [(0, 1)], [(0, 1)], ancestor=10))
    assert found[0] == gpu_links.Link(0, 1, True, 1, "one PCIe switch")
    assert found[1] == gpu_links.Link(0, 2, False, 0, "one PCIe switch")


def test_an_nvlink_to_another_gpu_is_not_counted():
    found, _ = gpu_links.read_gpus(Nvml(3, [], [(0, 2)]))
    assert [(link.first, link.second, link.nvlinks) for link in found] == [(0, 1, 0), (0, 2, 1), (1, 2, 0)]


def test_islands_grow_over_several_links():
    links = [gpu_links.Link(first, second, peer, 0, "?") for first, second, peer in ((0, 1, True), (1, 2, True))]
    assert gpu_links.peer_islands(links, 4) == [(0, 1, 2), (3,)]


def test_the_library_is_shut_down_after_an_error():
    nvml = Nvml(2, [])
    nvml.nvmlDeviceGetP2PStatus = None
    with pytest.raises(TypeError):
        gpu_links.read_gpus(nvml)
    assert nvml.ended == 1


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(gpu_links).failed == 0
