"""Rows of several lookups of one table in each tower, where one loss is made of all towers' results."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.division.rows_by_tower import NOTE_ON_ROWS
from tests.legacy.source.trained import assert_port_verified, source_of
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, towers

v1 = tf.compat.v1
WORDS, SIZE, ROWS, LENGTH = 5, 3, 4, 6


def joined_loss(lookups, of_all=True):
    """Towers that look inputs up in one table; the mean of all their losses, or each tower's own, is minimized."""

    def table():
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            make = v1.random_uniform_initializer(-1.0, 1.0, seed=1)
            return v1.get_variable("table", [WORDS, SIZE], initializer=make, use_resource=False)

    def build():
        names = ["words", "answers"][:lookups]
        parts = [tf.split(v1.placeholder(tf.int32, [TOWERS * ROWS, LENGTH], name), TOWERS) for name in names]

        def losses(tower):
            looked_up = [tf.reduce_sum(tf.gather(table(), part[tower]), 1) for part in parts]
            return tf.reduce_sum(tf.square(tf.tanh(tf.add_n(looked_up)) - 0.5), 1)

        optimizer, found = v1.train.AdamOptimizer(0.125), towers(losses)
        if of_all:
            return optimizer.minimize(tf.reduce_mean(tf.concat(found, 0)), colocate_gradients_with_ops=True)
        own = towers(lambda tower: tf.gradients(tf.reduce_mean(found[tower]), table())[0])
        rows, indices = (tf.concat([getattr(one, name) for one in own], 0) for name in ("values", "indices"))
        return optimizer.apply_gradients([(tf.IndexedSlices(rows / TOWERS, indices), table())])

    return build


@pytest.mark.parametrize("lookups", [1, 2])
def test_rows_of_all_lookups_are_those_of_all_towers(lookups, tmp_path):
    setup = lifted(joined_loss(lookups), tmp_path)
    plan = setup.job.workload.plan
    (phase,) = plan.phases
    assert (NOTE_ON_ROWS in plan.about.get("watch", [])) is (lookups > 1)
    assert {one.kind for one in phase.combine} == {"concat"}
    assert {"of_tower" in name for one in phase.combine for (name,) in one.parts} == {lookups > 1}
    assert_same(setup)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))


@pytest.mark.parametrize("colocated", [True, False])
def test_rows_are_joined_in_each_towers_backward_pass_also_where_all_of_these_are_on_the_cpu(colocated, tmp_path):
    """The table is on the first tower's device, and with it a part of the second tower's backward pass."""

    def build():
        with tf.device("/gpu:0"):
            table = v1.get_variable("table", [WORDS, SIZE], use_resource=False)
        weight = v1.get_variable("weight", [SIZE, 1], use_resource=False)

        def loss(tower):
            words = [v1.placeholder(tf.int32, [ROWS, LENGTH], name) for name in ("words", "answers")]
            return tf.add_n([tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids) @ weight)) for ids in words])

        losses = towers(loss, scope="model_{}")
        with tf.device("" if colocated else "/cpu:0"):
            optimizer = v1.train.AdamOptimizer(0.125)
            return optimizer.minimize(tf.add_n(losses) / TOWERS, colocate_gradients_with_ops=colocated)

    setup = lifted(build, tmp_path)
    (phase,) = setup.job.workload.plan.phases
    kinds = {one.weight: one.kind for one in phase.combine}
    assert kinds.pop("weight") == "sum" and set(kinds.values()) == {"concat"}
    assert_same(setup)


def test_rows_that_each_tower_has_joined_itself_stay_as_they_are(tmp_path):
    setup = lifted(joined_loss(2, of_all=False), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert {one.kind for one in phase.combine} == {"concat"}
    assert not [name for one in phase.combine for (name,) in one.parts if "of_tower" in name]
    assert_same(setup)
