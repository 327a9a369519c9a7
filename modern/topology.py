"""`python -m modern.topology`: the devices that TensorFlow sees here, and which of them can talk to each other.

With NVIDIA GPUs and the extra `gpu` (pip install "tower-parity[gpu]") it shows links, where PCIe paths meet, and peer
access, and says which all-reduce that suggests. Without GPUs it says so, and shows the logical devices.
"""

from __future__ import annotations

from absl import flags

from workloads.support import command, environment
from workloads.support.errors import require

command.define_json()
flags.DEFINE_integer("logical_cpus", 2, "Logical devices to divide the CPU into, as the other commands do.")

FLAGS = flags.FLAGS


def devices(logical_cpus):
    """Every physical device TensorFlow sees: [{"name", "type", "logical": its logical devices, "details"}]."""
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


def links_here():
    """(links, memory of each GPU in bytes, line about why there are none or None), as NVIDIA's library tells."""
    from modern.collectives import gpu_links

    try:
        import pynvml
    except ImportError:
        return [], [], 'NVIDIA\'s management library is not installed: pip install "tower-parity[gpu]"'
    try:
        return gpu_links.read_gpus(pynvml) + (None,)
    except pynvml.NVMLError as error:
        return [], [], f"NVIDIA's management library says: {error}"


def describe(logical_cpus):
    """All that `main` shows, as one dictionary."""
    from modern.collectives import gpu_links

    found = devices(logical_cpus)
    result = {"devices": found, "links": [], "note": None}
    gpus = [device for device in found if device["type"] == "GPU"]
    if not gpus:
        result["note"] = "no GPUs: replicas run on logical devices of the CPU, which share its memory"
        return result
    between, memory, result["note"] = links_here()
    for device, size in zip(gpus, memory):
        device["details"] = dict(device["details"], memory=f"{size / 2**30:.1f} GiB")
    if memory:
        result["links"] = [vars(link) for link in between]
        result["islands"] = gpu_links.peer_islands(between, len(memory))
        result["all_reduce"], result["why"] = gpu_links.suggest_all_reduce(between, len(memory))
    return result


def show(result, console):
    """Prints the tables."""
    from rich.table import Table

    table = Table(title="devices that TensorFlow sees", title_justify="left")
    for column in ("device", "logical devices", "details"):
        table.add_column(column)
    for device in result["devices"]:
        details = ", ".join(f"{name} {value}" for name, value in sorted(device["details"].items()))
        table.add_row(device["name"], ", ".join(device["logical"]), details or "-")
    console.print(table)
    if result["links"]:
        table = Table(title="GPUs that can talk", title_justify="left")
        for column in ("GPUs", "peer access", "NVLinks", "PCIe paths meet at"):
            table.add_column(column)
        for link in result["links"]:
            pair = "{} - {}".format(link["first"], link["second"])
            table.add_row(pair, "yes" if link["peer"] else "NO", str(link["nvlinks"]), link["ancestor"])
        console.print(table)
    if result["note"]:
        console.print(result["note"], highlight=False)
    if "all_reduce" in result:
        console.print("--all_reduce={}: {}".format(result["all_reduce"], result["why"]), highlight=False)


def main():
    require(FLAGS.logical_cpus >= 1, "--logical_cpus", FLAGS.logical_cpus, "must be at least 1")
    environment.prepare(exact=False)
    from rich.console import Console

    result = describe(FLAGS.logical_cpus)
    show(result, Console())
    command.write_json(result)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
