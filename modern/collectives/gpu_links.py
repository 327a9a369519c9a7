"""Which GPUs of this machine can talk to each other, from NVIDIA's management library, and what follows from it."""

from __future__ import annotations

import dataclasses
from typing import List

#: NVML's levels of the closest common ancestor of two GPUs on the PCIe tree, and what they are.
ANCESTORS = {
    0: "same board",
    10: "one PCIe switch",
    20: "several PCIe switches",
    30: "one host bridge",
    40: "one CPU",
    50: "the CPUs' interconnect",
}

#: NVML_P2P_CAPS_INDEX_READ and NVML_P2P_STATUS_OK; the binding has had the first as a tuple by mistake.
_READ, _OK = 0, 0


@dataclasses.dataclass(frozen=True)
class Link:
    """How two GPUs are joined.

    Attributes:
      first, second: their numbers.
      peer: whether each can read the other's memory.
      nvlinks: active NVLinks from the first to the second.
      ancestor: where their PCIe paths meet, one of `ANCESTORS`' texts.
    """

    first: int
    second: int
    peer: bool
    nvlinks: int
    ancestor: str


def read(nvml):
    """(all pairs' `Link`s, every GPU's memory in bytes).

    Args:
      nvml: the module `pynvml` (nvidia-ml-py), which is initialized and shut down here.
    """
    nvml.nvmlInit()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        memory = [nvml.nvmlDeviceGetMemoryInfo(handle).total for handle in handles]
        pairs = [(first, second) for second in range(len(handles)) for first in range(second)]
        return [_link(nvml, first, second, handles) for first, second in pairs], memory
    finally:
        nvml.nvmlShutdown()


def _link(nvml, first, second, handles):
    one, other = handles[first], handles[second]
    status = [nvml.nvmlDeviceGetP2PStatus(a, b, _READ) for a, b in ((one, other), (other, one))]
    ancestor = ANCESTORS.get(nvml.nvmlDeviceGetTopologyCommonAncestor(one, other), "unknown")
    return Link(first, second, all(value == _OK for value in status), _nvlinks(nvml, one, other), ancestor)


def _nvlinks(nvml, one, other):
    """Links whose other end is the other GPU; of GPUs behind a switch there are none, and peer access tells."""
    wanted, count = nvml.nvmlDeviceGetPciInfo(other).busId, 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            if nvml.nvmlDeviceGetNvLinkState(one, link):
                count += nvml.nvmlDeviceGetNvLinkRemotePciInfo(one, link).busId == wanted
        except nvml.NVMLError:  # it has no such link
            break
    return count


def islands(links: List[Link], gpus):
    """Groups of GPUs that all reach each other directly, as sorted lists of numbers."""
    group = {gpu: {gpu} for gpu in range(gpus)}
    for link in links:
        if link.peer and group[link.first] is not group[link.second]:
            merged = group[link.first] | group[link.second]
            group.update({gpu: merged for gpu in merged})
    return sorted({tuple(sorted(members)) for members in group.values()})


def suggest(links: List[Link], gpus):
    """(`--all_reduce`, why) for a machine whose GPUs are joined by `links`. Advice, to be measured."""
    if gpus < 2:
        return "auto", "with fewer than two GPUs nothing is reduced between GPUs"
    groups = islands(links, gpus)
    if len(groups) == 1:
        fast = all(link.nvlinks for link in links)
        return "nccl", "every GPU reaches every other directly, over {}".format("NVLink" if fast else "PCIe or NVLink")
    told = " and ".join("{" + ", ".join(str(gpu) for gpu in group) + "}" for group in groups)
    if all(len(group) == 1 for group in groups):
        return "one_device", "no GPU reaches another directly: all goes through the host's memory in any case"
    if gpus % 2 == 0:
        why = f"{told} reach each other only through the host: reduce within each group first; compare with nccl"
        return "hierarchical_copy", why
    return (
        "nccl",
        f"{told} reach each other only through the host; an odd number of GPUs rules hierarchical_copy out",
    )
