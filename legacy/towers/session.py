"""Settings of the sessions in which the legacy side runs its graphs."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from workloads.support.logical_gpus import memory_limits

v1 = tf.compat.v1


def session_config(devices: Sequence[str], exact: bool) -> tf.compat.v1.ConfigProto:
    """Makes a `ConfigProto` with as many CPU devices as the towers need; Grappler is off if `exact`."""
    cpus = sum(device.startswith("CPU") for device in devices)
    config = v1.ConfigProto(device_count={"CPU": max(1, cpus)}, allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    limits = memory_limits()
    for limits_of_gpu in limits if any(limits) else ():  # a session divides GPUs as its process does
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits_of_gpu)
    config.graph_options.rewrite_options.disable_meta_optimizer = exact
    return config
