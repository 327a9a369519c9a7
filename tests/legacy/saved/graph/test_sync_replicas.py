"""A worker's step under `SyncReplicasOptimizer`: as one run it is the towers' own step."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph.sync_replicas import with_own_gradients
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, sum_of_squares, towers, verified, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


def gradients():
    """The mean of the towers' gradients of one weight."""
    xs = split_batch()
    parts = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
    return [(tf.add_n(parts) / TOWERS, weights())]


def alone():
    v1.train.create_global_step()
    return v1.train.AdamOptimizer(0.1).apply_gradients(gradients(), v1.train.get_global_step())


def synchronous():
    v1.train.create_global_step()
    optimizer = v1.train.SyncReplicasOptimizer(v1.train.AdamOptimizer(0.1), replicas_to_aggregate=3)
    return optimizer.apply_gradients(gradients(), v1.train.get_global_step())


def rows():
    v1.train.create_global_step()
    table = v1.get_variable("table", [6, 2], use_resource=False)
    words = tf.split(v1.placeholder(tf.int32, [8], name="words"), TOWERS)

    def gradient(tower):
        return tf.gradients(tf.reduce_sum(tf.tanh(tf.gather(table, words[tower])) ** 2), [table])[0]

    first, second = towers(gradient)
    joined = tf.IndexedSlices(
        tf.concat([first.values, second.values], 0), tf.concat([first.indices, second.indices], 0), [6, 2]
    )
    optimizer = v1.train.SyncReplicasOptimizer(v1.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1)
    return optimizer.apply_gradients([(joined, table)], v1.train.get_global_step())


def test_a_worker_trains_as_its_towers_do_alone(tmp_path):
    states = []
    for build in (synchronous, alone):
        folder = tmp_path / build.__name__
        folder.mkdir()
        setup = lifted(build, folder)
        assert verified(setup).passed
        with setup.modern_program() as program:
            for _ in range(3):
                program.step()
            states.append(program.state())
    one, other = states
    assert all(np.array_equal(one.weights[name], value) for name, value in other.weights.items())
    assert {name for name, value in other.slots.items() if not np.array_equal(one.slots[name], value)} == set()
    assert one.statistics["global_step"] == 3 and "sync_rep_local_step" not in one.statistics


def test_gradients_of_rows_pass_too(tmp_path):
    setup = lifted(rows, tmp_path)
    result = verified(setup)
    assert result.passed and result.stages["weights"].tensors


def test_a_graph_without_accumulators_stays_as_it_is():
    whole = saved(traced(alone))
    assert with_own_gradients(whole) is whole


def test_an_accumulator_of_several_gradients_is_refused_with_its_name(tmp_path):
    def build():
        sums = v1.ConditionalAccumulator(tf.float32, [3, 2], name="sums")
        pairs = gradients()
        put = [sums.apply_grad(pairs[0][0]), sums.apply_grad(pairs[0][0] * 2.0)]
        with tf.control_dependencies(put):
            taken = sums.take_grad(2)
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(taken, weights())])

    with pytest.raises(InputError, match="applies gradients that come out of sums"):
        lifted(build, tmp_path)
