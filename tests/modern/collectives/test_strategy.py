import pytest
import tensorflow as tf

from modern.collectives import strategy
from modern.options import ModernOptions
from workloads.support.errors import InputError


def test_a_replica_is_on_each_device_in_order():
    mirrored = strategy.mirrored_strategy(["CPU:2", "CPU:0"], ModernOptions())
    devices = [tf.DeviceSpec.from_string(device) for device in mirrored.extended.worker_devices]
    assert [(device.device_type, device.device_index) for device in devices] == [("CPU", 2), ("CPU", 0)]


def test_strategies_of_one_process_number_their_collectives_apart():
    before = tf.distribute.MirroredStrategy._collective_key_base
    strategy.mirrored_strategy(["CPU:0"], ModernOptions())
    assert tf.distribute.MirroredStrategy._collective_key_base == before + strategy.KEYS_PER_STRATEGY


def test_enough_logical_devices_are_left_as_they_are_and_too_few_refused():
    have = len(tf.config.list_logical_devices("CPU"))
    strategy.divide_cpu(have)
    with pytest.raises(InputError, match=f"--logical_cpus: got {have + 1}, TensorFlow already runs with {have}"):
        strategy.divide_cpu(have + 1)
    assert len(tf.config.list_logical_devices("CPU")) == have


def test_a_worker_runs_its_replicas_on_the_devices_it_is_given():
    extended = object.__new__(strategy._MultiWorkerExtended)
    extended._given = ["CPU:0", "CPU:1"]
    devices, kind = extended._initialize_local_devices(None, "/job:worker/task:1")
    assert devices == ("/job:worker/task:1/device:CPU:0", "/job:worker/task:1/device:CPU:1")
    assert kind == "CPU"
