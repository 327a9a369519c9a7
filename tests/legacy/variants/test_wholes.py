"""Numbers that a program computes of all towers' batch, such as the sum of all lengths, which divides the losses."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.update.divided_sums import with_returned_numbers
from legacy.source.update.joined_parts import with_joined_parts
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, towers, weights
from workloads.data.function import FunctionData
from workloads.data.opening import open_data
from workloads.lifted.replication import replica_counts
from workloads.lifted.sources import LiftedOwnData

v1 = tf.compat.v1
ROWS = TOWERS * BATCH


def of_lengths(x, lengths):
    """A tower's loss: the sum over the words of all its lines, as of padded lines that are cut to their lengths."""
    of_lines = tf.reduce_sum(tf.tanh(tf.matmul(x, weights())) ** 2, 1)
    return tf.reduce_sum(of_lines * tf.cast(lengths, tf.float32))


def halves(value, tower):
    return tf.split(value, TOWERS)[tower]


def bounds(value, tower):
    rows = tf.shape(value)[0] // TOWERS
    return value[tower * rows : (tower + 1) * rows]


def first_rows(value, tower):
    """The parts of a part of the batch, of which the last rows are left out."""
    return value[tower : tower + 1]


def program(total, part=halves, rows=None, where="loss"):
    """A program that divides by `total(lengths)` of all towers' batch."""

    def build():
        x = v1.placeholder(tf.float32, [rows, 3], "x")
        lengths = v1.placeholder(tf.int32, [rows], "lengths")
        number = tf.cast(total(lengths), tf.float32)
        optimizer = v1.train.MomentumOptimizer(0.125, 0.5)
        parts = [(part(x, tower), part(lengths, tower)) for tower in range(TOWERS)]
        if where == "loss":
            losses = towers(lambda tower: of_lengths(*parts[tower]))
            return optimizer.minimize(tf.add_n(losses) / number)
        divisor = number if where == "tower" else 1.0
        made = towers(lambda tower: tf.gradients(of_lengths(*parts[tower]) / divisor, [weights()])[0])
        return optimizer.apply_gradients([(tf.add_n(made) / (number if where == "update" else 1.0), weights())])

    return build


def inputs_of(setup):
    plan = setup.job.workload.plan
    return {entry.name: entry.kind for entry in plan.inputs + plan.common}


@pytest.mark.parametrize("where", ["loss", "tower", "update"])
@pytest.mark.parametrize("part", [halves, bounds])
def test_a_sum_over_all_towers_batch_follows_from_their_parts(where, part, tmp_path):
    setup = lifted(program(tf.reduce_sum, part, where=where), tmp_path)
    assert inputs_of(setup) == {"x": "batch", "lengths": "batch", "lengths:0": "same"}
    assert replica_counts(setup.job.workload.plan) == "any number"
    assert_same(setup)


def mean(lengths):
    return tf.reduce_mean(tf.cast(lengths, tf.float32)) * 2.0


@pytest.mark.parametrize("total", [mean, tf.reduce_max, lambda lengths: tf.reduce_sum(lengths) + 1])
def test_other_numbers_of_all_rows_are_no_settings_either(total, tmp_path):
    assert "setting" not in inputs_of(lifted(program(total), tmp_path)).values()


def test_a_number_of_other_data_and_of_rows_that_no_tower_takes_stays_an_input(tmp_path):
    def of_others(lengths):
        return tf.reduce_sum(v1.placeholder(tf.int32, [None], "others"))

    for build in (program(of_others), program(tf.reduce_sum, first_rows)):
        assert list(inputs_of(lifted(build, tmp_path)).values()).count("setting") == 1


def test_a_batch_of_known_size_is_whole_at_the_own_number_of_towers_only(tmp_path):
    setup = lifted(program(tf.reduce_sum, rows=ROWS), tmp_path)
    assert_same(setup)
    assert (
        replica_counts(setup.job.workload.plan)
        == "2 only: towers take all 8 rows of lengths:0, of which each has its part"
    )


def test_data_have_the_parts_alone(tmp_path):
    """The whole of each batch is made of its parts, in whichever order the examples come."""
    setup = lifted(program(tf.reduce_sum), tmp_path)
    arrays = {"x": np.ones([3 * ROWS, 3], np.float32), "lengths": np.arange(3 * ROWS, dtype=np.int32)}
    np.savez(tmp_path / "data.npz", **arrays)
    assert_joined(LiftedOwnData(setup.job, open_data(str(tmp_path / "data.npz"))).shards(1))

    def batches(size):
        return tf.data.Dataset.from_tensor_slices(arrays).batch(size, drop_remainder=True)

    source = LiftedOwnData(setup.job, FunctionData("data", batches), shuffle=False)
    dealt = list(source.pipeline(1).take(2 * TOWERS).as_numpy_iterator())
    for step in range(2):
        assert_joined(source.shards(step + 1))
        assert_joined(dealt[step * TOWERS : (step + 1) * TOWERS])


def assert_joined(shards):
    joined = np.concatenate([shard["lengths"] for shard in shards])
    for shard in shards:
        np.testing.assert_array_equal(shard["lengths:0"], joined)


@pytest.mark.parametrize(
    "where, text", [("loss", "factor = 1.0 / tf.cast("), ("tower", "def tower_loss(scope, batch):")]
)
@pytest.mark.parametrize("part", [halves, bounds])
def test_a_source_gathers_what_divides_a_loss(where, text, part, tmp_path):
    setup = lifted(program(tf.reduce_sum, part, where=where), tmp_path)
    lift = setup.job.workload
    assert with_joined_parts(lift.plan, lift.graph) == (lift.plan, lift.graph)  # of what towers take
    source = source_of(setup, "workload")
    for replicas in (1, 2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    assert text in source.text and source.text.count('scope.of_all(batch["lengths"])') == 1
    own = source.text.replace('scope.of_all(batch["lengths"])', 'batch["lengths"]')
    assert not assert_port_verified(setup, tmp_path, source, changed=lambda text: own).passed


def weights_of_classes(rows):
    """A program whose towers weight each line by how rare its length is in all towers' batch."""

    def build():
        x = v1.placeholder(tf.float32, [rows, 3], "x")
        lengths = v1.placeholder(tf.int32, [rows], "lengths")
        counts = tf.reduce_sum(tf.one_hot(lengths, 2), 0)
        rare = tf.reduce_sum(counts) / tf.maximum(counts, 1.0)
        xs, parts = tf.split(x, TOWERS), tf.split(lengths, TOWERS)

        def gradient(tower):
            of_lines = tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) ** 2, 1)
            labels = tf.cast(parts[tower], tf.float32) * of_lines  # so that not the weights alone enter the tower
            return tf.gradients(tf.reduce_mean(labels * tf.gather(rare, parts[tower])), [weights()])[0]

        return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients([(tf.add_n(towers(gradient)) / 2.0, weights())])

    return build


def test_several_numbers_of_all_rows_are_computed_as_one_is(tmp_path):
    setup = lifted(weights_of_classes(None), tmp_path)
    assert inputs_of(setup) == {"x": "batch", "lengths": "batch", "lengths:0": "same"}
    assert replica_counts(setup.job.workload.plan) == "any number"
    assert_same(setup)
    source = source_of(setup, "workload")
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)


def test_several_numbers_of_a_batch_of_known_size_may_be_rows(tmp_path):
    """They stay an input, as before: of 8 rows, which has as many for each tower, nothing tells them from rows."""
    assert set(inputs_of(lifted(weights_of_classes(ROWS), tmp_path))) == {"x", "lengths", "truediv"}


def test_a_number_of_whole_data_by_which_a_sum_is_divided_returns_to_all_towers(tmp_path):
    lift = lifted(program(tf.reduce_sum), tmp_path).job.workload
    (phase,) = with_returned_numbers(lift.plan, lift.graph).phases
    assert len(phase.returns) == TOWERS and phase.returns[0] == phase.returns[1]
    for where in ("tower", "update"):  # in each tower's loss, and in no gradient
        lift = lifted(program(tf.reduce_sum, where=where), tmp_path).job.workload
        assert with_returned_numbers(lift.plan, lift.graph) == lift.plan


@pytest.mark.parametrize("part", [halves, bounds])
def test_an_update_joins_the_parts_of_all_towers(part, tmp_path):
    setup = lifted(program(tf.reduce_sum, part, where="update"), tmp_path)
    source = source_of(setup, "workload")
    for replicas in (1, 2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    assert "tf.concat(gather(context, part), axis=0)" in source.text
    own = source.text.replace("tf.concat(gather(context, part), axis=0)", "part")
    assert not assert_port_verified(setup, tmp_path, source, changed=lambda text: own).passed
