import numpy as np
import pytest
import tensorflow as tf

from modern.collectives import strategy
from modern.mirrored.state.variables import MirroredState
from modern.options import ModernOptions
from workloads.program import State


def a_state(step=0, shift=0.0):
    """A `State` with one variable of each kind."""
    return State(
        step,
        {"a/w": np.array([1.0, 2.0], np.float32) + np.float32(shift)},
        {"a/w/momentum": np.zeros(2, np.float32), "beta1_power": np.float32(0.5)},
        {"a/mean": np.float32(3.0)},
        {"a/w": np.array([4.0, 5.0], np.float32)},
    )


@pytest.fixture
def mirrored():
    """A strategy of two replicas."""
    return strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())


def test_the_variables_start_with_the_states_values(mirrored):
    state, drift = MirroredState(mirrored, a_state(step=3)).read()
    assert drift == [] and state.step == 3
    assert state.weights["a/w"].tolist() == [1.0, 2.0]
    assert state.slots["beta1_power"] == 0.5 and state.slots["a/w/momentum"].tolist() == [0.0, 0.0]
    assert state.statistics["a/mean"] == 3.0 and state.averages["a/w"].tolist() == [4.0, 5.0]


def test_a_loaded_state_reaches_every_copy(mirrored):
    variables = MirroredState(mirrored, a_state())
    variables.load(a_state(step=7, shift=1.0))
    for replica in range(2):
        local = variables.local(replica)
        assert local.replica == replica and int(local.step) == 7
        assert local.weights["a/w"].numpy().tolist() == [2.0, 3.0]


def test_a_replica_changes_its_own_copy_and_the_drift_is_named(mirrored):
    variables = MirroredState(mirrored, a_state())
    copy = variables.local(1).weights["a/w"]
    tf.raw_ops.AssignVariableOp(resource=copy.handle, value=[9.0, 9.0])
    state, drift = variables.read()
    assert drift == ["a/w"]
    assert state.weights["a/w"].tolist() == [1.0, 2.0]  # the first replica's


def test_variables_of_layers_are_on_their_device_and_slots_beside_them():
    places = {"a/w": "/device:CPU:2", "a/mean": "/device:CPU:3"}
    variables = MirroredState(tf.distribute.get_strategy(), a_state(), places)
    assert variables.weights["a/w"].device.endswith("CPU:2")
    assert variables.slots["a/w/momentum"].device.endswith("CPU:2")
    assert variables.statistics["a/mean"].device.endswith("CPU:3")
    assert not variables.slots["beta1_power"].device.endswith("CPU:2")
