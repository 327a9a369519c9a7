"""Rows of all towers that are made dense before an update, as a wrapped optimizer's all-reduce wants them."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.report.page import inspect_graph
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, setup_of, towers
from workloads.support.errors import InputError

v1 = tf.compat.v1


def program(rows_of):
    """Builds a program whose table is looked up at `rows_of(tower's words)`, and updated by a dense gradient."""

    def build():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * 3], name="words"), TOWERS)
        table = v1.get_variable("table", [5, 2], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)

        def loss(tower):
            taken = tf.gather(table, rows_of(words[tower])) * tf.cast(words[tower][:, None] + 1, tf.float32)
            return tf.reduce_mean(tf.tanh(taken))

        (rows,) = tf.gradients(tf.add_n(towers(loss)) / TOWERS, [table])
        dense = tf.convert_to_tensor(rows)
        return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(dense, table)])

    return build


def test_rows_that_are_made_dense_come_with_their_indices(tmp_path):
    setup = lifted(program(tf.identity), tmp_path)
    combined = {entry.weight: entry.kind for entry in setup.job.workload.plan.phases[0].combine}
    assert combined == {"table": "concat", "table (indices)": "concat"}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))


def clipped_positions(words):
    """Relative positions: their indices are clipped, which is no clipping of the gradient."""
    return tf.minimum(tf.maximum(tf.range(tf.size(words)) - 1, 0), 4)


def constant_positions(words):
    return tf.constant([0, 1, 2])


@pytest.mark.parametrize("positions", [clipped_positions, constant_positions])
def test_rows_by_positions_that_each_tower_makes_are_the_towers_own(positions, tmp_path):
    setup = lifted(program(positions), tmp_path)
    combined = {entry.weight: entry.kind for entry in setup.job.workload.plan.phases[0].combine}
    assert combined == {"table": "concat", "table (indices)": "concat"}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))
    (row,) = inspect_graph(str(tmp_path / "graph.meta"))["combining"]
    assert row["clipped"] == "no"


def test_rows_by_positions_that_are_made_outside_of_the_towers_are_kept_as_written(tmp_path):
    """Each tower takes the numbers that were made once."""
    made = []

    def positions(words):
        with v1.name_scope(None), tf.device(None):
            made.extend([] if made else [tf.range(3)])
        return made[0]

    setup = lifted(program(positions), tmp_path)
    assert [entry.kind for entry in setup.job.workload.plan.phases[0].combine] == ["kept as written"]
    assert_same(setup)
    with pytest.raises(InputError, match=r"not recognised \(table\)"):
        setup_of(str(tmp_path / "lifted"), replicas=3).modern_program()
