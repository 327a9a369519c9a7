import pytest
import tensorflow as tf

from legacy.towers.frame import TowerFrame
from tests.cases import Dyadic
from workloads import initializers
from workloads.job import Job
from workloads.scope import Scope

ONE = initializers.Constant(1.0)


def a_frame(variables, tower=0, device=None):
    """A frame of the current graph."""
    return TowerFrame(Job(Dyadic(), 2), tf.constant(0, tf.int64), tower, variables, device)


def test_towers_share_variables_and_each_reads_them_once():
    with tf.Graph().as_default():
        variables = {}
        first, second = a_frame(variables), a_frame(variables, 1)
        one = Scope(first).child("layer").get("w", (2,), ONE)
        again = Scope(first).child("layer").get("w", (2,), ONE)
        other = Scope(second).child("layer").get("w", (2,), ONE)
        assert list(variables) == ["layer/w"]
        assert one is again is first.read("layer/w")
        assert other is second.read("layer/w") and other is not one
        assert len(tf.compat.v1.global_variables()) == 1


def test_a_statistic_is_not_trainable():
    with tf.Graph().as_default():
        variables = {}
        scope = Scope(a_frame(variables))
        scope.get("w", (), ONE)
        scope.get("mean", (), ONE, trainable=False)
        assert {name: variable.trainable for name, variable in variables.items()} == {"w": True, "mean": False}


@pytest.mark.parametrize("device, placed", [(None, "/device:CPU:3"), ("/cpu:0", "/device:CPU:0")])
def test_variables_are_on_the_device_given_or_else_on_the_current_one(device, placed):
    with tf.Graph().as_default(), tf.device("/device:CPU:3"):
        variables = {}
        Scope(a_frame(variables, device=device)).get("w", (), ONE)
        assert variables["w"].device == placed
