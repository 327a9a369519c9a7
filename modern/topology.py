"""`python -m modern.topology`: list the devices of this machine and the links between its GPUs.

With NVIDIA GPUs and the extra `gpu` (pip install "tower-parity[gpu]") it shows NVLinks, the places where PCIe paths
meet and peer access, and suggests an all-reduce. Without GPUs it shows the logical devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from absl import flags

from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment

if TYPE_CHECKING:
    from rich.console import Console

    from modern.collectives.gpu_links import Gpus

command.define_json()
flags.DEFINE_integer("logical_cpus", 2, "Number of logical devices to divide the CPU into.")

FLAGS = flags.FLAGS


def list_devices(logical_cpus: int) -> list[dict[str, Any]]:
    """Returns {"name", "type", "logical": its logical devices, "details"} of every physical device TensorFlow sees."""
    import tensorflow as tf

    from modern.collectives import strategy

    strategy.divide_cpu(logical_cpus)
    logical = [device.name.rpartition("device:")[2] for device in tf.config.list_logical_devices()]
    found = []
    for device in tf.config.list_physical_devices():
        kind, index = device.device_type, device.name.rpartition(":")[2]
        own = [name for name in logical if name.startswith(kind) and (kind == "CPU" or name.endswith(":" + index))]
        known = tf.config.experimental.get_device_details(device) if kind == "GPU" else {}
        found.append({"name": device.name, "type": kind, "logical": own, "details": known})
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


def describe_topology(logical_cpus: int) -> dict[str, Any]:
    """Returns the content of `--json`: "devices", "links", "note" and, with GPUs, "islands", "all_reduce", "why"."""
    from modern.collectives import gpu_links

    found = list_devices(logical_cpus)
    result: dict[str, Any] = {"devices": found, "links": [], "note": None}
    gpus = [device for device in found if device["type"] == "GPU"]
    if not gpus:
        result["note"] = "no GPUs: replicas run on logical devices of the CPU, which share its memory"
        return result
    seen = read_gpus_here()
    if isinstance(seen, str):
        result["note"] = seen
        return result
    for device, size in zip(gpus, seen.memory):
        device["details"] = dict(device["details"], memory=f"{size / 2**30:.1f} GiB")
    if seen.memory:
        result["links"] = [vars(link) for link in seen.links]
        result["islands"] = gpu_links.peer_islands(seen.links, len(seen.memory))
        result["all_reduce"], result["why"] = gpu_links.suggest_all_reduce(seen.links, len(seen.memory))
    return result


def print_topology(result: dict[str, Any], console: Console) -> None:
    """Prints `describe_topology`'s result as tables."""
    from rich.table import Table

    table = Table(title="devices that TensorFlow sees", title_justify="left")
    for column in ("device", "logical devices", "details"):
        table.add_column(column)
    for device in result["devices"]:
        details = ", ".join(f"{name} {value}" for name, value in sorted(device["details"].items()))
        table.add_row(device["name"], ", ".join(device["logical"]), details or "-")
    console.print(table)
    if result["links"]:
        table = Table(title="links between GPUs", title_justify="left")
        for column in ("GPUs", "peer access", "NVLinks", "PCIe paths meet at"):
            table.add_column(column)
        for link in result["links"]:
            both = "{} - {}".format(link["first"], link["second"])
            table.add_row(both, "yes" if link["peer"] else "NO", str(link["nvlinks"]), link["ancestor"])
        console.print(table)
    if result["note"]:
        console.print(result["note"], highlight=False)
    if "all_reduce" in result:
        console.print("--all_reduce={}: {}".format(result["all_reduce"], result["why"]), highlight=False)


def main() -> int:
    """Prints the devices and links."""
    require(FLAGS.logical_cpus >= 1, "--logical_cpus", FLAGS.logical_cpus, "must be at least 1")
    environment.prepare(exact=False)
    from rich.console import Console

    result = describe_topology(FLAGS.logical_cpus)
    print_topology(result, Console())
    command.write_json(result)
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
