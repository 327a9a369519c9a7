from unittest import mock

import pytest
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.statistics.faulty_averages import copied_averages, skipped_averages
from tests.parity.causes.stub_step import faulty_step, local_state, values_of


def copy_weights(step, local):
    """Stands in for the healthy step's average: the weights themselves."""
    for name, variable in local.averages.items():
        variable.assign(local.weights[name].read_value())


@pytest.mark.parametrize("counted, average", [(1, 8.0), (2, 5.0), (3, 8.0)])
def test_averages_stay_in_odd_steps(counted, average):
    step, local = faulty_step("averages_every_other_step"), local_state(counted, {"w": 8.0}, averages={"w": 5.0})
    with mock.patch.object(ReplicaStep, "_update_averages", copy_weights):
        step._update_averages(local)
    assert values_of(local.averages) == {"w": average}


def test_the_weights_before_the_update_are_averaged():
    step, local = faulty_step("averages_before_the_update"), local_state(1, {"w": 8.0}, averages={"w": 5.0})
    step._variables = mock.Mock(local=lambda replica: local)

    def healthy_step(self, batch):
        self._variables.local(0).weights["w"].assign(3.0)
        self._update_averages(local)
        return batch

    averaged = mock.patch.object(ReplicaStep, "_update_averages", copy_weights)
    with averaged, mock.patch.object(ReplicaStep, "__call__", healthy_step):
        assert step({"x": tf.constant(2.0)})["x"].numpy() == 2.0
    assert (values_of(local.averages), values_of(local.weights)) == ({"w": 8.0}, {"w": 3.0})


@pytest.mark.parametrize("counted, average", [(1, 8.0), (2, 5.0), (3, 8.0)])
def test_averages_stay_in_the_steps_that_are_named(counted, average):
    (step_class,) = skipped_averages([1]).steps
    local = local_state(counted, {"w": 8.0}, averages={"w": 5.0})
    with mock.patch.object(ReplicaStep, "_update_averages", copy_weights):
        object.__new__(step_class)._update_averages(local)
    assert values_of(local.averages) == {"w": average}


@pytest.mark.parametrize("counted, average", [(1, 8.0), (2, 3.0)])
def test_averages_are_copies_of_the_weights_in_the_steps_that_are_named(counted, average):
    (step_class,) = copied_averages([0]).steps
    local = local_state(counted, {"w": 8.0}, averages={"w": 5.0})
    with mock.patch.object(ReplicaStep, "_update_averages", lambda step, local: local.averages["w"].assign(3.0)):
        object.__new__(step_class)._update_averages(local)
    assert values_of(local.averages) == {"w": average}
