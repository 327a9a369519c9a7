"""Logical GPUs: several devices on one card, each with its share of the memory."""

from __future__ import annotations

import subprocess

from workloads.support.errors import InputError, require

#: Share of a card's memory that its logical devices divide; the rest is for CUDA's own context.
DIVIDED = 0.9

_QUERY = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")


def divide_gpus(count: int) -> None:
    """Divides every GPU into `count` logical devices, once per process, before TensorFlow uses a GPU.

    Args:
      count: number of logical devices of each GPU; with 1 nothing is done.

    Raises:
      InputError: the memory of the GPUs is not known, or TensorFlow already runs with another number.
    """
    if count == 1:
        return
    import tensorflow as tf

    config = tf.config.experimental  # TensorFlow 1.15 has no other
    for gpu, memory in zip(config.list_physical_devices("GPU"), memory_of_gpus(count)):
        share = int(DIVIDED * memory / count)
        try:
            config.set_virtual_device_configuration(
                gpu, [config.VirtualDeviceConfiguration(memory_limit=share)] * count
            )
        except RuntimeError:  # already running: fine if it was divided so before
            have = len(config.get_virtual_device_configuration(gpu) or [None])
            require(have == count, "--logical_gpus", count, f"TensorFlow already runs with {have}")


def memory_limits() -> list[list[int]]:
    """Returns the memory of each GPU's logical devices in MiB; an empty list for a GPU that is not divided."""
    import tensorflow as tf

    config = tf.config.experimental
    divisions = [config.get_virtual_device_configuration(gpu) for gpu in config.list_physical_devices("GPU")]
    return [[part.memory_limit for part in division or () if part.memory_limit is not None] for division in divisions]


def memory_of_gpus(count: int) -> list[int]:
    """Returns each GPU's memory in MiB, as `nvidia-smi` tells it.

    Args:
      count: value of `--logical_gpus`, for the error.

    Raises:
      InputError: there is no `nvidia-smi`, which comes with NVIDIA's driver, or it fails.
    """
    try:
        answer = subprocess.run(_QUERY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    except OSError as error:
        raise InputError(f"--logical_gpus: got {count}, cannot ask nvidia-smi for the GPUs' memory: {error}") from error
    lines = answer.stdout.split()
    if answer.returncode or not all(line.isdigit() for line in lines):
        raise InputError(f"--logical_gpus: got {count}, nvidia-smi says: {answer.stdout.strip()}")
    return [int(line) for line in lines]
