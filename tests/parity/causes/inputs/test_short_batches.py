import math
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from parity.causes.inputs.short_batches import Short
from tests.cases import Dyadic
from tests.parity.causes.stub_step import FAULTS, change_of, faulty_step, forward_backward
from workloads.scope import Scope
from workloads.workload import Clip, InputSpec


class Mean(Dyadic):
    """The mean of the inputs."""

    def loss(self, scope, batch):
        return tf.reduce_mean(batch["x"])


def short_loss(kind, divide, replica, step=3):
    """The loss of one of two replicas with the examples 0 to 7."""
    frame = SimpleNamespace(replica=replica, step=tf.constant(step, tf.int64), updates={}, penalties=[], masks={})
    workload = Short(inner=Mean(), kind=kind, divide=divide, replicas=2)
    return float(workload.loss(Scope(frame), {"x": tf.range(8, dtype=tf.float32)}))


@pytest.mark.parametrize(
    "kind, divide, replica, loss",
    [
        ("even", "true", 0, 1.5),  # the mean of 0 to 3
        ("even", "fixed", 0, 0.75),  # their sum over 8
        ("uneven", "true", 0, 0.2),  # the mean of 0 and 1, times 2 examples over the mean of 2 and 8
        ("uneven", "means", 0, 0.5),
        ("uneven", "means", 1, 3.5),
        ("empty", "true", 0, 0.0),
        ("empty", "true", 1, 7.0),
    ],
)
def test_every_fourth_batch_is_short(kind, divide, replica, loss):
    assert short_loss(kind, divide, replica) == pytest.approx(loss, rel=1e-6)
    assert short_loss(kind, divide, replica, step=2) == 3.5


def test_the_mean_over_no_examples_is_not_a_number():
    assert math.isnan(short_loss("empty", "means", 0))


def test_a_short_workload_has_its_inner_workload_s_inputs():
    workload = FAULTS["uneven_means_counted_alike"].adapted_workload(Dyadic(clip=Clip(1.0)), 2)
    assert (workload.kind, workload.replicas, workload.clip, workload.name) == ("uneven", 2, None, "dyadic")
    assert workload.inputs() == {"x": InputSpec(())}
    assert list(workload.examples(np.random.RandomState(0), 3)["x"]) == [0, 1, 2]
    assert change_of("uneven_means_counted_alike").fields[0](None) == {"divide": "means"}


def test_padding_is_counted_among_the_examples():
    x = tf.constant([[0.25], [0.75], [1.0], [0.5]])
    step = faulty_step("mean_over_padding_too")
    loss, gradients = forward_backward(step, {"w": tf.constant(8.0)}, loss=tf.constant(2.0), batch={"x": x})
    assert (float(loss), float(gradients["w"])) == (1.0, 4.0)  # 2 of 4 examples are above one half
    assert FAULTS["mean_over_padding_too"].adapt(Dyadic(weight_decay=1.0, clip=Clip(1.0))) == Dyadic()
