"""Towers that each take their own part of a state that is computed once, such as an LSTM's state of all examples."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.graph_file import read_graph_file
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import (
    BATCH,
    TOWERS,
    assert_same,
    lifted,
    setup_of,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)
from workloads.lifted.replication import own_number_only, replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1
SIZES = [TOWERS * BATCH, 2]


def program(part, sizes=SIZES, joined=lambda ends: tf.concat(ends, 0)):
    """A program with a state of all examples, of which tower k takes `part(state, k)`."""

    def build():
        x = split_batch()
        start = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes) / 8
        state = v1.get_variable("state", initializer=start, trainable=False, use_resource=False)
        parts = part(state)
        ends = towers(lambda tower: tf.tanh(tf.matmul(x[tower], weights()) + parts[tower]))
        gradients = [tf.gradients(tf.reduce_sum(end**2), [weights()])[0] for end in ends]
        mean = v1.train.GradientDescentOptimizer(0.125)
        train = mean.apply_gradients([(tf.add_n(gradients) / TOWERS, weights())])
        with tf.control_dependencies(ends):
            return tf.group(train, v1.assign(state, joined(ends)), name="train")

    return build


def sliced(state):
    return [state[tower * BATCH : (tower + 1) * BATCH] for tower in range(TOWERS)]


PARTS = {
    "split": program(lambda state: tf.split(state, TOWERS)),
    "slices": program(sliced),
    "slices with open ends": program(lambda state: [state[:BATCH], state[BATCH:]]),
    "slices by size": program(lambda state: [tf.slice(state, [BATCH * t, 0], [BATCH, -1]) for t in range(TOWERS)]),
    "unstack": program(tf.unstack, [TOWERS, BATCH, 2], tf.stack),
    "indices": program(lambda state: [state[t] for t in range(TOWERS)], [TOWERS, BATCH, 2], tf.stack),
}
OTHERS = {
    "exchanged": program(lambda state: tf.split(state, TOWERS)[::-1]),
    "first rows": program(lambda state: [state[t : t + BATCH] for t in range(TOWERS)]),
    "columns": program(lambda state: [state[:BATCH, t : t + 1] for t in range(TOWERS)]),
}


def analysed(build, tmp_path):
    path = str(tmp_path / "graph.meta")
    with tf.Graph().as_default():
        name = build().name
        v1.train.export_meta_graph(path)
    return analyse_graph(read_graph_file(path), "x", [name]).plan


@pytest.mark.parametrize("kind", PARTS)
def test_towers_that_take_their_own_parts_are_equal_and_run_at_their_own_number(kind, tmp_path):
    plan = analysed(PARTS[kind], tmp_path)
    assert plan.differences == []
    assert [own.whole for own in plan.own_parts] == ["state"]
    assert replica_counts(plan) == "2 only: each tower takes its own part of state"


@pytest.mark.parametrize("kind", OTHERS)
def test_other_parts_are_a_difference(kind, tmp_path):
    plan = analysed(OTHERS[kind], tmp_path)
    assert plan.own_parts == []
    assert len(plan.differences) == 1 and plan.differences[0].endswith("other parts of state"), plan.differences


def test_one_part_for_all_towers_is_neither(tmp_path):
    """But the state is joined from all towers' results, which another number of replicas has no rows for."""
    plan = analysed(program(lambda state: [state[:BATCH]] * TOWERS), tmp_path)
    assert plan.own_parts == [] and plan.differences == []
    assert own_number_only(plan) == "the update takes what all towers' results are joined in (concat:0)"


def test_the_gradient_of_a_stack_of_losses_is_no_part_of_a_state(tmp_path):
    def build():
        x = split_batch()
        losses = towers(lambda tower: sum_of_squares(x[tower]))
        return v1.train.GradientDescentOptimizer(0.125).minimize(tf.reduce_mean(tf.stack(losses)), name="train")

    plan = analysed(build, tmp_path)
    assert plan.own_parts == [] and plan.differences == [] and own_number_only(plan) == ""


@pytest.mark.parametrize("kind", ["split", "slices", "indices"])
def test_each_replica_takes_its_part(kind, tmp_path):
    setup = lifted(PARTS[kind], tmp_path)
    assert_same(setup)
    source = source_of(setup, "workload")
    assert "[scope.replica]" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_source_in_which_all_replicas_take_the_first_part_is_seen(tmp_path):
    setup = lifted(PARTS["split"], tmp_path)
    source = source_of(setup, "workload")
    wrong = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("[scope.replica]", "[0]"))
    assert not wrong.passed


def test_another_number_of_replicas_is_refused(tmp_path):
    lifted(PARTS["split"], tmp_path)
    with pytest.raises(InputError, match="each tower takes its own part of state"):
        setup_of(str(tmp_path / "lifted"), replicas=2 * TOWERS).modern_program().__enter__()


def test_a_result_that_its_tower_uses_too_is_one_of_the_loss_of_all(tmp_path):
    """As of a variational autoencoder: the tower draws by its mean and decodes, and one loss takes both."""

    def build():
        xs, results = split_batch(), []
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                mean = tf.matmul(xs[tower], weights())
                results.append((mean, tf.tanh(mean * 2.0)))
        means, decoded = (tf.concat(rows, 0) for rows in zip(*results))
        loss = tf.reduce_mean(tf.reduce_sum(decoded**2, 1) + tf.reduce_sum(tf.square(means - 1.0), 1))
        with tf.device("/cpu:0"):
            return v1.train.GradientDescentOptimizer(0.25).minimize(loss, name="train")

    assert_same(lifted(build, tmp_path))
