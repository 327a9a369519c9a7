"""Statistics that all towers change in turn are compared at the old number of towers only."""

import dataclasses

import pytest
import tensorflow as tf

from parity.against.changes_in_turn import require_one_change_each
from tests.legacy.source.test_divided_losses import compared
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, split_batch, towers, weights
from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Effect
from workloads.support.errors import InputError

v1 = tf.compat.v1


def lift_with_changes(*values):
    """The plan and the graph of `small_lift` with a statistic from which an op subtracts each of the tensors."""
    plan, graph_def = small_plan(), small_graph().graph_def
    moved = [Effect(f"move{number}", "AssignSub", ["mean"], [value]) for number, value in enumerate(values)]
    for effect in moved:
        graph_def.node.add(name=effect.node, op="Identity", input=effect.values)
    phase = dataclasses.replace(plan.phases[0], effects=[*plan.phases[0].effects, *moved])
    mean = dataclasses.replace(plan.variables[0], name="mean", role="statistic")
    return dataclasses.replace(plan, phases=[phase], variables=[*plan.variables, mean]), Graph(graph_def)


@pytest.mark.parametrize("values", [["g0:0"], ["g0:0", "g0:0"], ["g1:0", "g1:0", "g1:0"]])
def test_changes_of_one_tower_are_compared_at_any_number(values):
    plan, graph = lift_with_changes(*values)
    assert plan.changed_in_turn == ["mean"] * (len(values) > 1)
    require_one_change_each(plan, graph, 4)


@pytest.mark.parametrize("values", [["g0:0", "g1:0"], ["rate:0", "rate:0"]])
def test_changes_of_each_tower_are_compared_at_their_number(values):
    plan, graph = lift_with_changes(*values)
    require_one_change_each(plan, graph, 2)
    with pytest.raises(InputError, match="--replicas: got 4, each tower changes 'mean' in turn: only --replicas=2"):
        require_one_change_each(plan, graph, 4)


def moved(mean, x):
    """The network's results on a batch, which moves the mean of its inputs."""
    return tf.matmul(x, weights()), v1.assign_sub(mean, (mean - tf.reduce_mean(x, 0)) * 0.25)


def trained(losses, updates):
    """The train op of the sum of the towers' losses, after the updates."""
    with tf.control_dependencies(updates):
        return v1.train.GradientDescentOptimizer(0.25).minimize(tf.add_n(losses), var_list=[weights()])


def one_tower(times):
    """A program of one tower that runs a network `times` times, as on real and on made-up examples."""

    def build():
        x = v1.placeholder(tf.float32, [8, 3], name="x")
        mean = plain("mean", [3])
        results, updates = zip(*(moved(mean, x * factor) for factor in (1.0, 2.0)[:times]))
        return trained([tf.reduce_sum(tf.tanh(result) ** 2) for result in results], updates)

    return build


def assert_compared(setup, replicas, tmp_path):
    """Asserts that the source of a lift has its bits at a number of replicas."""
    result = compared(setup, source_of(setup, "workload").text, replicas, tmp_path)
    assert result.passed, result.first


@pytest.mark.parametrize("times, replicas", [(1, 2), (2, 2), (2, 3)])
def test_the_statistics_of_one_tower_are_those_of_the_first_replica(times, replicas, tmp_path):
    assert_compared(lifted(one_tower(times), tmp_path), replicas, tmp_path)


def test_a_first_tower_that_changes_a_statistic_twice_does_so_at_any_number(tmp_path):
    def build():
        xs, mean, updates = split_batch(), plain("mean", [3]), []

        def loss(tower):
            results = [moved(mean, xs[tower] * factor) for factor in (1.0, 2.0)] if tower == 0 else []
            updates.extend(update for _, update in results)
            return tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) ** 2)

        return trained(towers(loss), updates)

    setup = lifted(build, tmp_path)
    assert setup.job.workload.plan.towers == TOWERS
    assert_compared(setup, 4, tmp_path)
