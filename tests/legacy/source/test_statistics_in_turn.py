"""Statistics that towers change in turn, and that the rest of the update reads after each of these changes."""

import pytest
import tensorflow as tf

from legacy.source.step.known_statistics import between_turns
from legacy.source.step.statistics import Proposal, Statistics
from legacy.source.update import recovered
from tests.legacy.source.test_trained_updates import weight
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, setup_of, split_batch, towers
from workloads.lifted.pieces.piece import VariableVersion
from workloads.numerics.statistics import FIRST_TOWER, TOWERS_IN_TURN
from workloads.support.errors import InputError

v1 = tf.compat.v1
READS_ITS_TURN = 'turns["mean/biased"][0] / '


def unbiased(value):
    """A change by a moving mean that is not biased towards its zeros, as `assign_moving_average` makes it.

    It goes half of the way, since all of it would end at the mean of the last tower alone, but for rounding.
    """
    average, biased, count = plain("mean", [2]), plain("mean/biased", [2]), plain("mean/count", [])
    moved, counted = v1.assign_sub(biased, (biased - value) * 0.1), v1.assign_add(count, 1.0)
    with tf.control_dependencies([moved, counted]):
        return v1.assign_sub(average, 0.5 * (average - biased.read_value() / (1.0 - 0.9 ** count.read_value())))


def unbiased_means():
    """A program whose towers change an unbiased moving mean one after another."""
    xs, w, updates = split_batch(), weight("w", [3, 2]), []

    def gradient(tower):
        hidden = tf.matmul(xs[tower], w)
        with tf.control_dependencies(updates[-1:]), v1.variable_scope("", reuse=v1.AUTO_REUSE):
            updates.append(unbiased(tf.reduce_mean(hidden, 0)))
        return tf.gradients(tf.reduce_sum(tf.tanh(hidden) ** 2), [w])[0]

    gradients = towers(gradient)
    train = v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(gradients) / TOWERS, w)])
    return v1.group(train, *updates)


def test_each_towers_unbiased_mean_follows_from_its_own_change(tmp_path):
    setup = lifted(unbiased_means, tmp_path)
    source = source_of(setup)
    assert READS_ITS_TURN in source.text and source.text.count('variables["mean/biased"].read_value()') == 1
    assert_trains_alike(setup, tmp_path, source, steps=12)


def test_a_workload_reads_each_towers_change(tmp_path):
    setup = lifted(unbiased_means, tmp_path)
    source = source_of(setup, "workload")
    assert_port_verified(setup, tmp_path, source, steps=12)
    late = 'variables["mean/biased"].read_value() / '
    assert not assert_port_verified(
        setup, tmp_path, source, steps=12, changed=lambda text: text.replace(READS_ITS_TURN, late)
    ).passed
    with pytest.raises(InputError, match="is for 2 only"):
        assert_port_verified(setup, tmp_path, source, replicas=3)


def test_what_several_changes_of_one_tower_leave_is_not_kept():
    one = Proposal("mean", "AssignSub", "value:0", "sub")
    assert list(between_turns(Statistics(TOWERS_IN_TURN, [[one]] * 3))) == [
        VariableVersion("mean", 1),
        VariableVersion("mean", 2),
    ]
    assert not between_turns(Statistics(TOWERS_IN_TURN, [[one, one]] * 2))
    assert not between_turns(Statistics(FIRST_TOWER, [[one], []]))


def test_an_update_that_reads_what_no_text_keeps_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(recovered, "between_turns", lambda statistics: {})
    with pytest.raises(InputError, match="reads 'mean/biased' between two of its changes"):
        source_of(lifted(unbiased_means, tmp_path))


def counting_towers():
    """A program whose towers each raise the counter that its rate, of an update written by hand, is computed from."""
    xs, w, count = split_batch(), weight("w", [3, 2]), plain("count", [])
    gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2), [w])[0])
    rate = 0.25 / (1.0 + count)
    with tf.control_dependencies([v1.assign_sub(w, rate * tf.sign(tf.add_n(gradients) / TOWERS))]):
        counts = [v1.assign_add(count, 1.0) for _ in range(TOWERS)]
    return tf.group(*counts)


def test_a_counter_that_each_tower_raises_is_for_as_many_replicas(tmp_path):
    setup = lifted(counting_towers, tmp_path)
    source = source_of(setup)
    assert source.text.count('variables["count"].assign_add(1.0)') == TOWERS
    assert "For 2 replicas only: each tower changes count." in source.text and "--replicas" not in source.text
    with pytest.raises(InputError, match="is for 2 only"):
        assert_port_verified(setup, tmp_path, source_of(setup, "workload"), replicas=3)


def two_players():
    """A program of two optimizers in one run, each of which raises the counter of the steps."""
    xs, w, v, count = split_batch(), weight("w", [3, 2]), weight("v", [3, 2]), plain("count", [])
    updates = []
    for x in (w, v):

        def gradient(tower, x=x):
            return tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(xs[tower], x)) ** 2), [x])[0]

        mean = tf.add_n(towers(gradient)) / TOWERS
        updates.append(v1.train.GradientDescentOptimizer(0.25).apply_gradients([(mean, x)], count))
    return tf.group(*updates)


def test_a_counter_that_each_of_two_optimizers_raises_is_for_any_number_of_replicas(tmp_path):
    setup = lifted(two_players, tmp_path)
    source = source_of(setup)
    assert source.text.count('variables["count"].assign_add(') == 2
    assert "replicas only" not in source.text and "--replicas" in source.text
    assert_trains_alike(setup, tmp_path, source)
    assert_port_verified(setup_of(str(tmp_path / "lifted"), replicas=4), tmp_path, source_of(setup, "workload"))
