"""Programs of one tower at more replicas: what a mean loss, a sum, rows and clipping become there."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.variants.programs import assert_same, lifted, setup_of, weights
from workloads.lifted.sources import LiftedSynthetic

v1 = tf.compat.v1


def program(reduce, make_rule, clip=False):
    """Returns what builds the train op of a reduction of the losses of examples, with words as rows of a table."""

    def build():
        words = v1.placeholder(tf.int32, [None], "words")
        target = v1.placeholder(tf.float32, [None, 2], "target")
        table = v1.get_variable("table", [5, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        loss = reduce(tf.reduce_sum((tf.matmul(tf.gather(table, words), weights()) - target) ** 2, 1))
        rule = make_rule()
        pairs = rule.compute_gradients(loss)
        if clip:
            clipped, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.5)
            pairs = [(gradient, weight) for gradient, (_, weight) in zip(clipped, pairs)]
        return rule.apply_gradients(pairs)

    return build


@pytest.mark.parametrize(
    "make_rule, clip",
    [
        (lambda: v1.train.GradientDescentOptimizer(0.125), False),
        (lambda: v1.train.MomentumOptimizer(0.125, 0.5), False),  # an update of rows adds up equal ones first
        (lambda: v1.train.AdamOptimizer(0.125), True),
    ],
    ids=["SGD", "momentum", "Adam, clipped"],
)
def test_a_mean_over_examples_is_one_over_replicas(make_rule, clip, tmp_path):
    setup = lifted(program(tf.reduce_mean, make_rule, clip), tmp_path)
    combined = setup.job.workload.plan.phases[0].combine
    assert {one.kind for one in combined if one.weight == "net/w"} == {"mean"}
    rows = [one for one in combined if one.weight.startswith("table")]
    assert {one.kind for one in rows} == {"concat"}
    assert {one.weight.endswith("(indices)") for one in rows if not one.divided} == {True}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))


def test_a_sum_over_examples_is_one_over_replicas(tmp_path):
    setup = lifted(program(tf.reduce_sum, lambda: v1.train.AdagradOptimizer(0.125)), tmp_path)
    combined = setup.job.workload.plan.phases[0].combine
    assert {one.kind for one in combined} == {"sum", "concat"} and not any(one.divided for one in combined)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=2), replicated=True))


class _Given(LiftedSynthetic):
    """Four examples that the replicas share out."""

    def shards(self, step):
        size = 4 // self._job.replicas
        words, target = np.array([0, 3, 3, 1], np.int32), np.arange(8, dtype=np.float32).reshape([4, 2])
        starts = range(0, 4, size)
        return [{"words": words[start : start + size], "target": target[start : start + size]} for start in starts]


def weights_after_a_step(folder, replicas):
    setup = setup_of(folder, make_source=_Given)
    setup = dataclasses.replace(setup, job=dataclasses.replace(setup.job, replicas=replicas, global_batch=4))
    with setup.modern_program() as program:
        return program.step().state.weights


def test_two_replicas_that_share_a_batch_take_the_step_of_one(tmp_path):
    lifted(program(tf.reduce_mean, lambda: v1.train.MomentumOptimizer(0.125, 0.5)), tmp_path)
    of_one, of_two = (weights_after_a_step(str(tmp_path / "lifted"), replicas) for replicas in (1, 2))
    assert set(of_one) == {"table", "net/w"}
    for name, value in of_one.items():
        np.testing.assert_allclose(of_two[name], value, rtol=1e-6, atol=1e-6)  # float32 sums in two orders


@pytest.mark.parametrize("make_rule", [lambda: v1.train.AdamOptimizer(0.125), lambda: v1.train.AdagradOptimizer(0.125)])
def test_rows_of_positions_follow_from_the_sizes_of_each_replica(make_rule, tmp_path):
    """A table of positions is looked up by a range that is repeated for each example."""

    def build():
        x = v1.placeholder(tf.float32, [None, 4, 3], "x")
        table = v1.get_variable("places", [4, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        places = tf.tile(tf.expand_dims(tf.range(tf.shape(x)[1]), 0), [tf.shape(x)[0], 1])
        loss = tf.reduce_mean(tf.square(tf.tensordot(x + tf.gather(table, places), weights(), 1)))
        return make_rule().minimize(loss)

    setup = lifted(build, tmp_path)
    combined = [one for one in setup.job.workload.plan.phases[0].combine if one.weight.startswith("places")]
    assert any(one.weight.endswith("(indices)") and one.kind == "concat" for one in combined)
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))


def with_gradients_made_dense(reduce, lookups, change):
    """Returns what builds a train op of a table whose rows' gradients are made dense, and changed then."""

    def build():
        words = [v1.placeholder(tf.int32, [None], f"words_{i}") for i in range(lookups)]
        target = v1.placeholder(tf.float32, [None, 2], "target")
        table = v1.get_variable("table", [5, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        found = tf.add_n([tf.gather(table, numbers) for numbers in words])
        loss = reduce(tf.reduce_sum((tf.matmul(found, weights()) - target) ** 2, 1))
        rule = v1.train.GradientDescentOptimizer(0.125)
        pairs = rule.compute_gradients(loss)
        return rule.apply_gradients([(change(tf.convert_to_tensor(gradient)), weight) for gradient, weight in pairs])

    return build


@pytest.mark.parametrize("lookups", [1, 2])
@pytest.mark.parametrize("reduce", [tf.reduce_mean, tf.reduce_sum])
def test_rows_that_are_made_dense_and_clipped_are_joined_with_their_indices(reduce, lookups, tmp_path):
    def clipped(gradient):
        return v1.clip_by_norm(gradient, 0.5)

    setup = lifted(with_gradients_made_dense(reduce, lookups, clipped), tmp_path)
    rows = [one for one in setup.job.workload.plan.phases[0].combine if one.weight.startswith("table")]
    assert {(one.weight, one.kind) for one in rows} == {("table", "concat"), ("table (indices)", "concat")}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))


def test_noise_that_one_tower_adds_to_its_rows_is_drawn_once_for_all_replicas(tmp_path):
    def noisy(gradient):
        return gradient + v1.random_normal(tf.raw_ops.Shape(input=gradient), stddev=0.25)

    setup = lifted(with_gradients_made_dense(tf.reduce_sum, 1, noisy), tmp_path)
    plan = setup.job.workload.plan
    assert plan.noise == [] and len(plan.common_noise) == 2
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=2), replicated=True))


def test_noise_in_the_loss_of_one_tower_is_each_replicas_own(tmp_path):
    def build():
        x = v1.placeholder(tf.float32, [None, 3], "x")
        kept = tf.nn.dropout(x, rate=0.5)
        return v1.train.GradientDescentOptimizer(0.125).minimize(tf.reduce_mean(tf.matmul(kept, weights()) ** 2))

    plan = lifted(build, tmp_path).job.workload.plan
    assert len(plan.noise) == 1 and plan.common_noise == []


def adam_of_rows_of_012(table, rows):
    """The Adam of rows of TensorFlow 0.12, which adds rows to its moments as they are."""
    added = []
    for name, values in (("m", rows.values), ("v", rows.values * rows.values)):
        zeros = v1.zeros_initializer()
        moment = v1.get_variable(f"table/{name}", [5, 3], initializer=zeros, trainable=False, use_resource=False)
        kept = v1.assign(moment, moment * 0.5, use_locking=True)
        added.append(tf.raw_ops.ScatterAdd(ref=kept, indices=rows.indices, updates=values * 0.5))
    return tf.group(v1.assign_sub(table, added[0] * 0.125 / (tf.sqrt(added[1]) + 0.5)), *added)


@pytest.mark.parametrize("examples", [None, 5])  # as many as the table has rows
@pytest.mark.parametrize("reduce", [tf.reduce_mean, tf.reduce_sum])
def test_rows_that_are_added_to_moments_are_joined(reduce, examples, tmp_path):
    def build():
        words = v1.placeholder(tf.int32, [examples], "words")
        target = v1.placeholder(tf.float32, [examples, 2], "target")
        table = v1.get_variable("table", [5, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        loss = reduce(tf.reduce_sum((tf.matmul(tf.gather(table, words), weights()) - target) ** 2, 1))
        (rows,) = tf.gradients(loss, [table])
        return adam_of_rows_of_012(table, rows)

    setup = lifted(build, tmp_path)
    combined = setup.job.workload.plan.phases[0].combine
    assert {one.kind for one in combined if one.weight.startswith("table")} == {"concat"}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))
