"""Towers of which one differentiates another's `while` loop: replicas run loops as a whole."""

import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import TOWERS, apply, assert_same, lifted, split_batch, towers, weights
from workloads.lifted.replication import replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1


def of_loops(leaks):
    """Two towers with a loop each; the second one's loss has the first one's in it if `leaks`."""

    @with_old_cond
    def build():
        xs, losses = split_batch(), []

        def gradient(tower):
            h = v1.while_loop(
                lambda turn, h: turn < 3,
                lambda turn, h: (turn + 1, tf.tanh(tf.matmul(h, tf.matmul(weights(), weights(), transpose_b=True)))),
                [0, xs[tower]],
            )[1]
            losses.append(tf.reduce_sum(h**2))
            return tf.gradients(tf.add_n(losses) if leaks else losses[-1], [weights()])[0]

        return apply(tf.add_n(towers(gradient)) / TOWERS)

    return build


def test_a_port_of_parts_of_a_loop_is_refused_with_the_reason(tmp_path):
    setup = lifted(of_loops(True), tmp_path)
    plan = setup.job.workload.plan
    assert all(name.startswith("tower_0/") for name in plan.divided_loops[:1])
    assert replica_counts(plan).startswith("none: a tower takes tower_0/")
    with pytest.raises(InputError, match="no replica runs this lift: .* another's while loop"), setup.modern_program():
        pass
    assert "while_loop" in source_of(setup, "workload").text


def test_loops_that_each_tower_runs_itself_are_lifted(tmp_path):
    setup = lifted(of_loops(False), tmp_path)
    assert setup.job.workload.plan.divided_loops == []
    assert_same(setup, 2)
