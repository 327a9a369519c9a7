"""Which devices towers and replicas run on."""

from __future__ import annotations

import tensorflow as tf

from workloads.support.errors import require

KINDS = ("auto", "cpu", "gpu")


def choose(kind, replicas, logical_cpus):
    """The device of each replica: "GPU:0", "GPU:1", ... if there are GPUs (or `kind` asks), else logical CPUs.

    Args:
      kind: one of `KINDS`.
      replicas: how many devices are needed.
      logical_cpus: how many logical devices a CPU may be divided into.

    Raises:
      InputError: there are fewer devices than replicas.
    """
    require(kind in KINDS, "--device", kind, "allowed: " + ", ".join(KINDS))
    gpus = len(tf.config.experimental.list_physical_devices("GPU"))
    if kind == "gpu" or (kind == "auto" and gpus):
        require(
            replicas <= gpus,
            "--replicas",
            replicas,
            f"more than the {gpus} GPUs here; --device=cpu divides the CPU",
        )
        return [f"GPU:{index}" for index in range(replicas)]
    require(logical_cpus >= 1, "--logical_cpus", logical_cpus, "must be at least 1")
    require(
        replicas <= logical_cpus,
        "--replicas",
        replicas,
        f"more than the {logical_cpus} logical CPU devices; raise --logical_cpus",
    )
    return [f"CPU:{index}" for index in range(replicas)]
