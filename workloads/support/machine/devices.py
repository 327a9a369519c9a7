"""Devices that towers and replicas run on."""

from __future__ import annotations

from workloads.support.errors import require
from workloads.support.machine.logical_gpus import divide_gpus

KINDS = ("auto", "cpu", "gpu")


def choose_devices(kind: str, replicas: int, logical_cpus: int, logical_gpus: int = 1) -> list[str]:
    """Chooses the device of each replica: GPUs if there are any (or `kind` asks for them), else logical CPUs.

    Divides the GPUs if that is asked for.

    Args:
      kind: one of `KINDS`.
      replicas: number of devices needed.
      logical_cpus: number of logical devices that the CPU may be divided into.
      logical_gpus: number of logical devices that each GPU is divided into.

    Returns:
      ["GPU:0", "GPU:1", ...] or ["CPU:0", "CPU:1", ...], one a replica.

    Raises:
      InputError: there are fewer devices than replicas.
    """
    import tensorflow as tf

    require(kind in KINDS, "--device", kind, "allowed: " + ", ".join(KINDS))
    gpus = len(tf.config.experimental.list_physical_devices("GPU"))
    if kind == "gpu" or (kind == "auto" and gpus):
        require(logical_gpus >= 1, "--logical_gpus", logical_gpus, "must be at least 1")
        divided = "" if logical_gpus == 1 else f" with {logical_gpus} logical devices each"
        require(
            replicas <= gpus * logical_gpus,
            "--replicas",
            replicas,
            f"more than the {gpus} GPUs here{divided}; --logical_gpus divides them, --device=cpu the CPU",
        )
        divide_gpus(logical_gpus)
        return [f"GPU:{index}" for index in range(replicas)]
    require(logical_cpus >= 1, "--logical_cpus", logical_cpus, "must be at least 1")
    require(
        replicas <= logical_cpus,
        "--replicas",
        replicas,
        f"more than the {logical_cpus} logical CPU devices; raise --logical_cpus",
    )
    return [f"CPU:{index}" for index in range(replicas)]
