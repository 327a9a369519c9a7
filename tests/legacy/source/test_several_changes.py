"""Statistics that each tower changes several times, as those of a network that it runs on several inputs."""

import pytest
import tensorflow as tf

from legacy.source.step.statistics import find_statistics
from tests.legacy.source.test_trained_updates import weight
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, split_batch, towers

v1 = tf.compat.v1
UPDATES = "updates"


def network(x):
    """A layer whose moving mean is changed by each batch that it runs on."""
    hidden = tf.matmul(x, weight("w", [3, 2]))
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        mean = plain("mean", [2])
    v1.add_to_collection(UPDATES, v1.assign_sub(mean, (mean - tf.reduce_mean(hidden, 0)) * 0.25))
    return tf.tanh(hidden)


def trained(losses):
    """The train op of the towers' losses, with all changes of the moving mean."""
    w = weight("w", [3, 2])
    gradients = [tf.gradients(loss, [w])[0] for loss in losses]
    with tf.control_dependencies(v1.get_collection(UPDATES)):
        return v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(gradients) / TOWERS, w)])


def by_tower():
    """A program whose towers each run the network on their examples, then on these reversed and scaled."""
    xs = split_batch()
    return trained(towers(lambda t: tf.reduce_sum(network(xs[t]) * network(2.0 - 3.0 * xs[t]))))


def in_rounds():
    """The same, where all towers run it on their examples before one runs it again."""
    xs = split_batch()
    first = towers(lambda t: network(xs[t]))
    return trained(towers(lambda t: tf.reduce_sum(first[t] * network(2.0 - 3.0 * xs[t]))))


def three_times():
    """A program whose towers each run the network three times."""
    xs = split_batch()
    return trained(towers(lambda t: tf.reduce_sum(network(xs[t]) * network(2.0 * xs[t]) - network(-xs[t]))))


@pytest.mark.parametrize("program, changes", [(by_tower, 2), (three_times, 3)])
def test_a_workload_makes_all_changes_of_a_tower_before_the_next_ones(program, changes, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert 'statistics: str = "towers_in_turn"' in source.text and "StepWorkload" not in source.text
    assert_workload_verified(setup, tmp_path, source)
    lift = setup.job.workload
    proposals = find_statistics(lift.plan, lift.graph, lift.plan.phases[0], again=True).proposals
    assert [len(own) for own in proposals] == [changes] * TOWERS


@pytest.mark.parametrize("program, workload", [(by_tower, True), (three_times, True), (in_rounds, False)])
def test_the_standalone_source_has_the_order_of_the_changes(program, workload, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup)
    assert ("makes its changes in turn" in source.text) == workload
    assert_trains_alike(setup, tmp_path, source)


def test_rounds_of_all_towers_are_a_step_of_its_own(tmp_path):
    setup = lifted(in_rounds, tmp_path)
    source = source_of(setup, "workload")
    assert any("towers change them in several rounds" in note for note in source.notes)
    assert_port_verified(setup, tmp_path, source)


def test_changes_in_another_order_are_seen(tmp_path):
    setup = lifted(by_tower, tmp_path)
    source = source_of(setup, "workload")

    def exchanged(text):
        lines = text.splitlines()
        first, second = [number for number, line in enumerate(lines) if "scope.update(" in line]
        lines[first], lines[second] = "", lines[second] + "\n" + lines[first]
        return "\n".join(lines)

    other = assert_workload_verified(setup, tmp_path, source, changed=exchanged)
    assert not other.passed and other.first.stage == "statistics"
