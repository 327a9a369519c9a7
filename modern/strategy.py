"""Strategies on the devices that are here; without GPUs, on logical devices of the CPU."""

from __future__ import annotations

import tensorflow as tf

from modern import all_reduce
from workloads.errors import require


def divide_cpu(count):
    """Makes `count` logical CPU devices, once per process, before TensorFlow uses the CPU.

    Raises:
      InputError: TensorFlow already runs with fewer.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError:  # already running: fine if there are enough
        have = len(tf.config.list_logical_devices("CPU"))
        require(have >= count, "--logical_cpus", count, "TensorFlow already runs with {}".format(have))


def mirrored(devices, options):
    """`MirroredStrategy` on `devices` (e.g. ["CPU:0", "CPU:1"]) with the all-reduce of `options`."""
    return tf.distribute.MirroredStrategy(
        ["/device:" + device for device in devices], all_reduce.make(options.all_reduce, options.average)
    )
