from types import SimpleNamespace
from unittest import mock

import pytest
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.statistics import faulty_batch_norm as faulty
from parity.causes.statistics.faulty_batch_norm import MovingRule
from workloads import layers

#: Two examples of one channel: mean 2, variance 1, and 2 with Bessel's correction.
X = [[1.0], [3.0]]

#: With this epsilon the examples are divided by sqrt(1 + 3).
EPSILON = 3.0


class Scope:
    """A scope whose variables are what they are initialized with."""

    training, tapping = True, False

    def __init__(self):
        self.updates = {}

    def tap(self, name, value):
        return value

    def get(self, name, shape, initializer, trainable=True):
        return tf.fill(shape, initializer.value)

    def update(self, name, value):
        self.updates[name] = value.numpy().tolist()


def normalized(batch_norm, **arguments):
    """Returns ({statistic: new value}, normalized examples)."""
    scope = Scope()
    made = batch_norm(scope, tf.constant(X), momentum=0.5, **arguments)
    return scope.updates, made.numpy().tolist()


@pytest.mark.parametrize(
    "make_rule, momentum, count, rule",
    [
        (faulty.biased, 0.75, 5.0, MovingRule(0.25, 1.0)),
        (faulty.unbiased, 0.75, 5.0, MovingRule(0.25, 1.25)),
        (faulty.unbiased, 0.75, 1.0, MovingRule(0.25, 1.0)),
        (faulty.tenth_of_the_share, 0.5, 5.0, MovingRule(0.05, 1.25)),
    ],
)
def test_rules_of_libraries(make_rule, momentum, count, rule):
    assert make_rule(momentum, count) == rule


def test_the_moving_variance_without_bessel_s_correction():
    statistics, made = normalized(faulty.make_batch_norm(faulty.biased), epsilon=EPSILON)
    assert statistics == {"moving_mean": [1.0], "moving_variance": [1.0]}
    assert made == [[-0.5], [0.5]]


def test_the_healthy_rule_makes_the_healthy_layer():
    made = normalized(faulty.make_batch_norm(faulty.unbiased), epsilon=EPSILON)
    assert made == normalized(layers.batch_norm, epsilon=EPSILON)
    assert made[0] == {"moving_mean": [1.0], "moving_variance": [1.5]}


def test_a_larger_epsilon():
    assert normalized(faulty.larger_epsilon, epsilon=EPSILON / 100)[1] == [[-0.5], [0.5]]


@pytest.mark.parametrize("context", [None, SimpleNamespace(num_replicas_in_sync=1)])
def test_a_lone_replica_s_moments_are_the_global_ones(context):
    with mock.patch.object(tf.distribute, "get_replica_context", lambda: context):
        mean, variance = faulty.global_moments(tf.constant(X), [0])
    assert (mean.numpy().tolist(), variance.numpy().tolist()) == ([2.0], [1.0])


def test_global_moments_are_means_over_the_replicas():
    def all_reduce(how, value):
        assert how == tf.distribute.ReduceOp.MEAN
        return value + 1  # as if the other replica's value were larger by 2

    context = SimpleNamespace(num_replicas_in_sync=2, all_reduce=all_reduce)
    with mock.patch.object(tf.distribute, "get_replica_context", lambda: context):
        mean, variance = faulty.global_moments(tf.constant(X), [0])
    assert mean.numpy().tolist() == [3.0]
    assert variance.numpy().tolist() == [3.0]  # the mean of (1 - 3)^2 and (3 - 3)^2, plus 1


def test_the_port_is_traced_with_another_layer_which_is_put_back():
    used = []

    def healthy_pass(step, local, number, replica, batch):
        used.append(layers.batch_norm)
        if batch == "bad":
            raise ValueError("bad batch")
        return batch

    own = layers.batch_norm
    (step_class,) = faulty.in_batch_norm(faulty.larger_epsilon).steps
    step = object.__new__(step_class)
    with mock.patch.object(ReplicaStep, "_forward_backward", healthy_pass):
        assert step._forward_backward(None, 0, 0, "good") == "good"
        assert layers.batch_norm is own
        with pytest.raises(ValueError, match="bad batch"):
            step._forward_backward(None, 0, 0, "bad")
    assert layers.batch_norm is own
    assert used == [faulty.larger_epsilon] * 2
