import numpy as np
import pytest
import tensorflow as tf

from modern.collectives import exchange, strategy
from modern.options import ModernOptions

TENSORS = ([1.0, 2.0], 3.0)


def exchanged(function, replicas):
    """The result of `function(context, tensors)` on every replica, where replica r has (r + 1) times `TENSORS`."""
    mirrored = strategy.mirrored_strategy([f"CPU:{i}" for i in range(replicas)], ModernOptions())

    @tf.function(autograph=False)
    def run():
        def replica():
            context = tf.distribute.get_replica_context()
            factor = tf.cast(context.replica_id_in_sync_group + 1, tf.float32)
            return function(context, [tf.constant(value) * factor for value in TENSORS])

        return mirrored.run(replica)

    def of(number):
        return tf.nest.map_structure(lambda value: mirrored.experimental_local_results(value)[number].numpy(), run())

    first, last = of(0), of(-1)
    tf.nest.map_structure(np.testing.assert_array_equal, first, last)
    return tf.nest.map_structure(lambda array: array.tolist(), first)


@pytest.mark.parametrize("how, expected", [("MEAN", [[2.0, 4.0], 6.0]), ("SUM", [[6.0, 12.0], 18.0])])
def test_every_replica_gets_the_reduced_tensors(how, expected):
    reduce_op = tf.distribute.ReduceOp[how]
    assert exchanged(lambda context, tensors: exchange.all_reduce(context, reduce_op, tensors), 3) == expected


def test_every_replica_gets_the_first_ones_values():
    assert exchanged(exchange.from_first, 3) == [[1.0, 2.0], 3.0]


def test_every_replica_gets_all_values_in_the_replicas_order():
    assert exchanged(exchange.gather, 2) == [[[1.0, 2.0], [2.0, 4.0]], [3.0, 6.0]]


def test_joined_tensors_follow_the_replicas_order():
    joined = exchanged(lambda context, tensors: exchange.concat(context, tensors[:1]), 2)
    assert joined == [[1.0, 2.0, 2.0, 4.0]]


@pytest.mark.parametrize("function", [exchange.from_first, exchange.gather, exchange.concat])
def test_no_tensors_are_exchanged_as_none(function):
    assert exchanged(lambda context, tensors: function(context, []), 2) == []


class LoneContext:
    """The context of the only replica of a strategy, which cannot reach any other."""

    num_replicas_in_sync = 1
    strategy = None


def test_a_lone_replica_exchanges_nothing():
    tensors = [tf.constant([1.0, 2.0]), tf.constant(3.0)]
    assert exchange.all_reduce(LoneContext, tf.distribute.ReduceOp.MEAN, tensors) == tensors
    assert exchange.from_first(LoneContext, tensors) == tensors
    assert exchange.gather(LoneContext, tensors) == [[tensors[0]], [tensors[1]]]


class Together:
    """The context of a replica under `MultiWorkerMirroredStrategy`: `all_gather` joins its value and its double."""

    num_replicas_in_sync = 2

    def __init__(self, form=None):
        self.strategy = object.__new__(tf.distribute.MultiWorkerMirroredStrategy)
        self.strategy.form = form

    def all_gather(self, values, axis):
        return [tf.concat([value, 2 * value], axis) for value in values]

    def all_reduce(self, how, values):
        return [10 * value for value in values]


def test_workers_gather_each_tensor_along_a_new_dimension():
    values = exchange.gather(Together(), [tf.constant([1.0, 2.0]), tf.constant(3.0)])
    assert [[value.numpy().tolist() for value in tensor] for tensor in values] == [[[1.0, 2.0], [2.0, 4.0]], [3.0, 6.0]]


@pytest.mark.parametrize(
    "form, how, expected",
    [("stack", "SUM", [3.0, 6.0]), ("add_n", "MEAN", [1.5, 3.0]), (None, "SUM", [10.0, 20.0])],
)
def test_workers_add_gathered_tensors_in_order_or_leave_it_to_a_collective(form, how, expected):
    (reduced,) = exchange.all_reduce(Together(form), tf.distribute.ReduceOp[how], [tf.constant([1.0, 2.0])])
    assert reduced.numpy().tolist() == expected
