"""The choice of devices: GPUs where there are enough, else divisions of the CPU."""

import pytest
import tensorflow as tf

from workloads.support.errors import InputError
from workloads.support.machine import devices


@pytest.fixture
def gpus(monkeypatch):
    """Function that sets how many GPUs TensorFlow reports."""

    def report(count):
        monkeypatch.setattr(tf.config.experimental, "list_physical_devices", lambda kind: ["gpu"] * count)

    return report


@pytest.mark.parametrize(
    "kind, have, chosen",
    [
        ("auto", 0, ["CPU:0", "CPU:1"]),
        ("auto", 2, ["GPU:0", "GPU:1"]),
        ("cpu", 2, ["CPU:0", "CPU:1"]),
        ("gpu", 3, ["GPU:0", "GPU:1"]),
    ],
)
def test_each_replica_has_a_device(kind, have, chosen, gpus):
    gpus(have)
    assert devices.choose_devices(kind, 2, 8) == chosen


@pytest.mark.parametrize(
    "kind, have, logical, message",
    [
        ("auto", 1, 8, "--replicas: got 2, more than the 1 GPUs here; --logical_gpus divides them"),
        ("gpu", 0, 8, "--replicas: got 2, more than the 0 GPUs here"),
        ("cpu", 0, 1, "--replicas: got 2, more than the 1 logical CPU devices"),
        ("cpu", 0, 0, "--logical_cpus: got 0, must be at least 1"),
        ("tpu", 0, 8, "--device: got 'tpu', allowed: auto, cpu, gpu"),
    ],
)
def test_too_few_devices_are_refused(kind, have, logical, message, gpus):
    gpus(have)
    with pytest.raises(InputError, match=message):
        devices.choose_devices(kind, 2, logical)
