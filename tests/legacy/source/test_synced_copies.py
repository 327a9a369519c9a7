"""Copies of weights that a run sets to the weights before a tower uses them: gradients are those of the weights."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from parity.comparison.tour import Visit
from parity.coverage.visits.lifted_visits import with_equal_copies
from tests.legacy.source.test_trained_updates import weight
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, split_batch, towers
from workloads.lifted.synced_copies import synced_copies

v1 = tf.compat.v1
WEIGHT = "net/w"


def workers(start=0.0):
    """(ops that set each tower's copy of a weight, train op on the gradients by the copies), which begin at `start`."""
    xs, w, sync = split_batch(), weight("w", [3, 2]), []

    def gradient(tower):
        copy = plain(f"worker_{tower}/w", [3, 2], start)
        sync.append(v1.assign(copy, w))
        return tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], copy)) ** 2), [copy])[0]

    gradients = towers(gradient)
    return sync, v1.train.GradientDescentOptimizer(0.25).apply_gradients(
        [(tf.add_n(gradients) / TOWERS, w)], name="train"
    )


def set_before(tmp_path):
    def build():
        sync, train = workers()
        tf.group(*sync, name="sync")
        return train

    return lifted(build, tmp_path, train_op=["sync", "train"])


def set_after(tmp_path):
    def build():
        sync, train = workers()
        tf.group(*sync, name="sync")
        return train

    return lifted(build, tmp_path, train_op=["train", "sync"])


def copies_of(setup, values=None):
    lift = setup.job.workload
    return synced_copies(lift.plan, lift.graph, values or lift.values())


def test_gradients_are_the_weights_own(tmp_path):
    setup = set_before(tmp_path)
    assert copies_of(setup) == {f"worker_{tower}/w": WEIGHT for tower in range(TOWERS)}
    source = source_of(setup, "workload")
    assert 'scope.get("net/w"' in source.text and 'scope.get("worker' not in source.text
    assert_port_verified(setup, tmp_path, source, steps=6)
    assert_port_verified(setup, tmp_path, source, steps=6, replicas=3)
    assert_trains_alike(setup, tmp_path, steps=6)


def test_copies_that_are_set_after_the_update_must_begin_with_the_weights_values(tmp_path):
    setup = set_after(tmp_path)
    assert copies_of(setup) == {}
    values = setup.job.workload.values()
    equal = {name: values[WEIGHT] if name.startswith("worker") else value for name, value in values.items()}
    assert set(copies_of(setup, equal)) == {f"worker_{tower}/w" for tower in range(TOWERS)}


def test_a_copy_that_lags_behind_is_none(tmp_path):
    def build():
        sync, train = workers()
        tf.group(*sync, name="sync")
        return train

    assert copies_of(lifted(build, tmp_path, train_op=["sync", "train", "train"])) == {}


@pytest.mark.parametrize("late", [True, False])
def test_copies_of_the_run_that_updates_must_see_the_update(late, tmp_path):
    def build():
        xs, w, copy = split_batch(), weight("w", [3, 2]), plain("worker/w", [3, 2])
        gradients = towers(lambda t: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[t], copy)) ** 2), [copy])[0])
        rule = v1.train.GradientDescentOptimizer(0.25)
        if late:
            with tf.control_dependencies([rule.apply_gradients([(tf.add_n(gradients) / TOWERS, w)])]):
                return tf.group(v1.assign(copy, w.read_value()), name="step")
        mean = tf.add_n(gradients) / TOWERS
        with tf.control_dependencies([mean]), tf.control_dependencies([v1.assign(copy, w)]):
            return rule.apply_gradients([(tf.identity(mean), w)], name="step")

    setup = lifted(build, tmp_path)
    values = setup.job.workload.values()
    assert copies_of(setup, {**values, "worker/w": values[WEIGHT]}) == ({"worker/w": WEIGHT} if late else {})


def test_visits_give_copies_the_weights_values(tmp_path):
    setup = set_before(tmp_path)
    workload = setup.job.workload
    with setup.legacy_program() as program:
        state = program.state()

    def choose(last, coverage):
        yield Visit("far weights", dataclasses.replace(last, weights={name: 8 + a for name, a in last.weights.items()}))

    assert with_equal_copies(choose, workload) is choose  # a lift's port has the copies itself
    written = dataclasses.replace(workload, losses={"train": lambda scope, batch: None})
    (visit,) = with_equal_copies(choose, written)(state, None)
    copies = {name: visit.state.statistics[name] for name in ("worker_0/w", "worker_1/w")}
    assert all(np.array_equal(array, visit.state.weights[WEIGHT]) for array in copies.values())
