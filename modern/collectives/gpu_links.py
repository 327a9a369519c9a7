"""Links between the GPUs of this machine, from NVIDIA's management library, and the all-reduce that they suggest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

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
    """The connection of two GPUs.

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


class Gpus(NamedTuple):
    """The GPUs of a machine.

    Attributes:
      links: of every two GPUs.
      memory: bytes of each.
    """

    links: list[Link]
    memory: list[int]


class Suggestion(NamedTuple):
    """A value for `--all_reduce`, and the reason for it. Advice, to be measured."""

    all_reduce: str
    why: str


def read_gpus(nvml: Any) -> Gpus:
    """Reads the links and memory of all GPUs.

    Args:
      nvml: the module `pynvml` (nvidia-ml-py), which is initialized and shut down here.
    """
    nvml.nvmlInit()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        memory = [nvml.nvmlDeviceGetMemoryInfo(handle).total for handle in handles]
        twos = [(first, second) for second in range(len(handles)) for first in range(second)]
        return Gpus([_link(nvml, first, second, handles) for first, second in twos], memory)
    finally:
        nvml.nvmlShutdown()


def _link(nvml: Any, first: int, second: int, handles: Sequence[Any]) -> Link:
    one, other = handles[first], handles[second]
    status = [nvml.nvmlDeviceGetP2PStatus(a, b, _READ) for a, b in ((one, other), (other, one))]
    ancestor = ANCESTORS.get(nvml.nvmlDeviceGetTopologyCommonAncestor(one, other), "unknown")
    return Link(first, second, all(value == _OK for value in status), _count_nvlinks(nvml, one, other), ancestor)


def _count_nvlinks(nvml: Any, one: Any, other: Any) -> int:
    """Links of `one` whose other end is `other`. GPUs behind an NVSwitch have none; their peer access shows it."""
    wanted, count = nvml.nvmlDeviceGetPciInfo(other).busId, 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            if nvml.nvmlDeviceGetNvLinkState(one, link):
                count += nvml.nvmlDeviceGetNvLinkRemotePciInfo(one, link).busId == wanted
        except nvml.NVMLError:  # it has no such link
            break
    return count


def peer_islands(links: Sequence[Link], gpus: int) -> list[tuple[int, ...]]:
    """Returns the groups of GPUs that are joined by peer access, each sorted.

    >>> one_link = [Link(0, 1, True, 0, "one CPU")]
    >>> peer_islands(one_link, 3)
    [(0, 1), (2,)]
    """
    group = {gpu: {gpu} for gpu in range(gpus)}
    for link in links:
        if link.peer and group[link.first] is not group[link.second]:
            merged = group[link.first] | group[link.second]
            group.update({gpu: merged for gpu in merged})
    return sorted({tuple(sorted(members)) for members in group.values()})


def suggest_all_reduce(links: Sequence[Link], gpus: int) -> Suggestion:
    """Suggests an all-reduce for a machine whose GPUs are joined by `links`.

    >>> suggest_all_reduce([Link(0, 1, True, 4, "one CPU")], 2).all_reduce
    'nccl'
    """
    if gpus < 2:
        return Suggestion("auto", "with fewer than two GPUs nothing is reduced between GPUs")
    groups = peer_islands(links, gpus)
    if len(groups) == 1:
        way = "NVLink" if all(link.nvlinks for link in links) else "PCIe or NVLink"
        return Suggestion("nccl", f"every GPU reaches every other directly, over {way}")
    listed = " and ".join("{" + ", ".join(str(gpu) for gpu in group) + "}" for group in groups)
    if all(len(group) == 1 for group in groups):
        return Suggestion(
            "one_device", "no GPU reaches another directly: all goes through the host's memory in any case"
        )
    apart = f"{listed} reach each other only through the host"
    if gpus % 2 == 0:
        return Suggestion("hierarchical_copy", f"{apart}: reduce within each group first; compare with nccl")
    return Suggestion("nccl", f"{apart}; an odd number of GPUs rules hierarchical_copy out")
