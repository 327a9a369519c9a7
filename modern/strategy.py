"""Strategies on the devices that are here; without GPUs, on logical devices of the CPU."""

from __future__ import annotations

import tensorflow as tf

from modern import all_reduce
from workloads.errors import require

KEYS_PER_STRATEGY = 1000


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
    # Every strategy numbers its collectives from the same start, so two in one process would meet in each other's.
    # TensorFlow's own tests (distribute/strategy_combinations.py) move the start in this way; no public one exists.
    tf.distribute.MirroredStrategy._collective_key_base += KEYS_PER_STRATEGY
    return tf.distribute.MirroredStrategy(
        ["/device:" + device for device in devices], all_reduce.make(options.all_reduce, options.average, len(devices))
    )
