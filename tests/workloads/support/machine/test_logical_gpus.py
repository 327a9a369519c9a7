"""Division of made-up GPUs: shares of their memory, and what cannot be divided."""

import types

import pytest
import tensorflow as tf

from legacy.towers.program import session_config
from workloads.support.errors import InputError
from workloads.support.machine import devices, logical_gpus


class Config:
    """The part of `tf.config.experimental` that divides GPUs."""

    def __init__(self, gpus, running=False):
        self.gpus, self.running, self.divisions = gpus, running, {}

    def list_physical_devices(self, kind):
        assert kind == "GPU"
        return self.gpus

    def VirtualDeviceConfiguration(self, memory_limit):
        return types.SimpleNamespace(memory_limit=memory_limit)

    def set_virtual_device_configuration(self, gpu, parts):
        if self.running:
            raise RuntimeError("already initialized")
        self.divisions[gpu] = parts

    def get_virtual_device_configuration(self, gpu):
        return self.divisions.get(gpu)


@pytest.fixture
def two_gpus(monkeypatch):
    config = Config(["gpu 0", "gpu 1"])
    monkeypatch.setattr(tf.config, "experimental", config)
    monkeypatch.setattr(logical_gpus, "memory_of_gpus", lambda count: [1000, 500])
    return config


def test_each_part_has_its_share_of_the_memory(two_gpus):
    logical_gpus.divide_gpus(2)
    assert logical_gpus.memory_limits() == [[450, 450], [225, 225]]


def test_replicas_share_divided_gpus(two_gpus):
    assert devices.choose_devices("auto", 4, 8, logical_gpus=2) == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    with pytest.raises(InputError, match="--replicas: got 5, more than the 2 GPUs here with 2 logical devices each"):
        devices.choose_devices("gpu", 5, 8, logical_gpus=2)
    with pytest.raises(InputError, match="--logical_gpus: got 0, must be at least 1"):
        devices.choose_devices("gpu", 1, 8, logical_gpus=0)


def test_a_session_divides_them_as_its_process_does(two_gpus):
    assert not session_config(["GPU:0"], exact=False).gpu_options.experimental.virtual_devices
    logical_gpus.divide_gpus(2)
    parts = session_config(["GPU:0"], exact=False).gpu_options.experimental.virtual_devices
    assert [list(part.memory_limit_mb) for part in parts] == [[450, 450], [225, 225]]


def test_one_part_asks_nothing(two_gpus, monkeypatch):
    monkeypatch.setattr(logical_gpus, "memory_of_gpus", None)
    logical_gpus.divide_gpus(1)
    assert two_gpus.divisions == {} and logical_gpus.memory_limits() == [[], []]


def test_gpus_in_use_stay_as_they_are(two_gpus):
    logical_gpus.divide_gpus(2)
    two_gpus.running = True
    logical_gpus.divide_gpus(2)
    with pytest.raises(InputError, match="--logical_gpus: got 3, TensorFlow already runs with 2"):
        logical_gpus.divide_gpus(3)


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Function that makes the only `nvidia-smi` on the path a script with this body."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(body):
        script = tmp_path / "nvidia-smi"
        script.write_text("#!/bin/sh\n" + body)
        script.chmod(0o755)

    return make


def test_the_driver_knows_the_memory(nvidia_smi):
    nvidia_smi('echo "$1" | { read -r query && [ "$query" = --query-gpu=memory.total ] && echo 81920 && echo 6144; }')
    assert logical_gpus.memory_of_gpus(2) == [81920, 6144]


@pytest.mark.parametrize("body", ["echo no driver; exit 9", "echo no driver"])
def test_a_driver_that_fails_is_quoted(body, nvidia_smi):
    nvidia_smi(body)
    with pytest.raises(InputError, match="--logical_gpus: got 2, nvidia-smi says: no driver"):
        logical_gpus.memory_of_gpus(2)


def test_a_machine_without_a_driver(nvidia_smi):
    with pytest.raises(InputError, match="--logical_gpus: got 2, cannot ask nvidia-smi .*No such file"):
        logical_gpus.memory_of_gpus(2)
