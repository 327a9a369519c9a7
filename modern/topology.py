"""`python -m modern.topology`: list the devices of this machine and the links between its GPUs.

With NVIDIA GPUs and the extra `gpu` (pip install "tower-parity[gpu]") it shows NVLinks, the places where PCIe paths
meet and peer access, and suggests an all-reduce. Without GPUs it shows the logical devices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from absl import flags

from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment

if TYPE_CHECKING:
    from rich.console import Console

    from modern.collectives.gpu_links import Gpus, Link, Suggestion

command.define_json()
flags.DEFINE_integer("logical_cpus", 2, "Number of logical devices to divide the CPU into.")

FLAGS = flags.FLAGS


class Device(NamedTuple):
    """A physical device that TensorFlow sees.

    Attributes:
      name: such as "/physical_device:GPU:0".
      type: "CPU" or "GPU".
      logical: its logical devices, such as "GPU:0".
      details: {property: value}, of a GPU.
    """

    name: str
    type: str
    logical: list[str]
    details: Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class Topology:
    """The devices of this machine, and the links between its GPUs where they could be read.

    Attributes:
      devices: all that TensorFlow sees.
      note: the reason why there are no links, or None.
      links: of every two GPUs.
      islands: numbers of the GPUs that are joined by peer access, a group each.
      suggestion: an all-reduce for these links; None without GPUs.
    """

    devices: list[Device]
    note: str | None = None
    links: Sequence[Link] = ()
    islands: Sequence[tuple[int, ...]] = ()
    suggestion: Suggestion | None = None

    def to_json(self) -> dict[str, object]:
        """Returns the content of `--json`; "islands", "all_reduce" and "why" only with GPUs."""
        content: dict[str, object] = {
            "devices": [device._asdict() for device in self.devices],
            "links": [vars(link) for link in self.links],
            "note": self.note,
        }
        if self.suggestion is not None:
            content.update(islands=self.islands, **self.suggestion._asdict())
        return content


def list_devices(logical_cpus: int) -> list[Device]:
    """Returns the physical devices, with the CPU divided into logical ones."""
    import tensorflow as tf

    from modern.collectives import strategy

    strategy.divide_cpu(logical_cpus)
    logical = [device.name.rpartition("device:")[2] for device in tf.config.list_logical_devices()]
    found = []
    for device in tf.config.list_physical_devices():
        kind, index = device.device_type, device.name.rpartition(":")[2]
        own = [name for name in logical if name.startswith(kind) and (kind == "CPU" or name.endswith(":" + index))]
        details = tf.config.experimental.get_device_details(device) if kind == "GPU" else {}
        found.append(Device(device.name, kind, own, details))
    return found


def read_gpus_here() -> Gpus | str:
    """Returns the GPUs as NVIDIA's management library reports them, or one line on why it does not."""
    from modern.collectives import gpu_links

    try:
        import pynvml
    except ImportError:
        return 'NVIDIA\'s management library is not installed: pip install "tower-parity[gpu]"'
    try:
        return gpu_links.read_gpus(pynvml)
    except pynvml.NVMLError as error:
        return f"NVIDIA's management library says: {error}"


def describe_topology(logical_cpus: int) -> Topology:
    """Returns the devices, and the links between GPUs if there are any."""
    from modern.collectives import gpu_links

    devices = list_devices(logical_cpus)
    if all(device.type != "GPU" for device in devices):
        return Topology(devices, "no GPUs: replicas run on logical devices of the CPU, which share its memory")
    gpus = read_gpus_here()
    if isinstance(gpus, str):
        return Topology(devices, gpus)
    if not gpus.memory:
        return Topology(devices)
    return Topology(
        _with_memory(devices, gpus.memory),
        links=gpus.links,
        islands=gpu_links.peer_islands(gpus.links, len(gpus.memory)),
        suggestion=gpu_links.suggest_all_reduce(gpus.links, len(gpus.memory)),
    )


def _with_memory(devices: Sequence[Device], memory: Sequence[int]) -> list[Device]:
    """Adds each GPU's memory, in bytes, to its details."""
    sizes = iter(memory)
    described = []
    for device in devices:
        size = next(sizes, None) if device.type == "GPU" else None
        added = {} if size is None else {"memory": f"{size / 2**30:.1f} GiB"}
        described.append(device._replace(details={**device.details, **added}))
    return described


def print_topology(topology: Topology, console: Console) -> None:
    """Prints the devices and links as tables."""
    from rich.table import Table

    table = Table(title="devices that TensorFlow sees", title_justify="left")
    for column in ("device", "logical devices", "details"):
        table.add_column(column)
    for device in topology.devices:
        details = ", ".join(f"{name} {value}" for name, value in sorted(device.details.items()))
        table.add_row(device.name, ", ".join(device.logical), details or "-")
    console.print(table)
    if topology.links:
        table = Table(title="links between GPUs", title_justify="left")
        for column in ("GPUs", "peer access", "NVLinks", "PCIe paths meet at"):
            table.add_column(column)
        for link in topology.links:
            ends = f"{link.first} - {link.second}"
            table.add_row(ends, "yes" if link.peer else "NO", str(link.nvlinks), link.ancestor)
        console.print(table)
    if topology.note:
        console.print(topology.note, highlight=False)
    if topology.suggestion is not None:
        console.print(f"--all_reduce={topology.suggestion.all_reduce}: {topology.suggestion.why}", highlight=False)


def main() -> int:
    """Prints the devices and links."""
    require(FLAGS.logical_cpus >= 1, "--logical_cpus", FLAGS.logical_cpus, "must be at least 1")
    environment.prepare(exact=False)
    from rich.console import Console

    topology = describe_topology(FLAGS.logical_cpus)
    print_topology(topology, Console())
    command.write_json(topology.to_json())
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
