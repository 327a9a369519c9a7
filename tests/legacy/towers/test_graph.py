import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import graph
from parity.profiling.kernel_floor import reached
from tests.cases import Dyadic, Everything, ThreeParts
from workloads.job import Job
from workloads.workload import MovingAverage

v1 = tf.compat.v1
DEVICES = ("/device:CPU:0", "/device:CPU:1")


def built(workload=None, staleness=None, **options):
    """`TowerGraph` of two towers with x = 1, 3 and x = 5, 7 in the current graph; loss = mean(x) a b."""
    batches = [{"x": tf.constant([1.0, 3.0])}, {"x": tf.constant([5.0, 7.0])}]
    job = Job(workload or Dyadic(), 2, 4, staleness=staleness)
    return graph.build_tower_graph(job, LegacyOptions(**options), batches, DEVICES)


def evaluated(towers, *fetches):
    """Values of `fetches` in a session where a = 1 and b = 2."""
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for name, value in (("a", 1.0), ("b", 2.0)):
            session.run(v1.assign(towers.variables[name], value))
        return [session.run(fetch) for fetch in fetches]


def test_losses_gradients_and_update_by_hand():
    with tf.Graph().as_default():
        towers = built()
        losses, gradients, combined, _, weights, step = evaluated(
            towers, towers.losses, towers.gradients, towers.combined, towers.train_ops[0], towers.variables,
            towers.global_step
        )  # fmt: skip
    assert losses == [4.0, 12.0]
    assert gradients == [{"a": 4.0, "b": 2.0}, {"a": 12.0, "b": 6.0}]
    assert combined == {"a": 8.0, "b": 4.0}
    assert weights == {"a": 0.5, "b": 1.75} and step == 1


def test_towers_that_do_not_wait_have_an_op_each_that_applies_their_own_gradient():
    with tf.Graph().as_default():
        towers = built(updates="async")
        assert sorted(towers.train_ops) == [0, 1] and towers.combined == {}
        _, weights, step = evaluated(towers, towers.train_ops[1], towers.variables, towers.global_step)
    assert weights == {"a": 0.25, "b": 1.625} and step == 1


@pytest.mark.parametrize("variables, device", [("cpu", "/device:CPU:0"), ("tower", "/device:CPU:0")])
def test_all_variables_are_in_one_place(variables, device):
    with tf.Graph().as_default():
        towers = built(variables=variables)
        assert {variable.device for variable in towers.variables.values()} == {device}


def test_the_fault_of_pinning_puts_every_tower_on_the_cpu():
    with tf.Graph().as_default():
        assert [loss.device for loss in built().losses] == list(DEVICES)
    with tf.Graph().as_default():
        towers = built(pin_towers_to_cpu=True)
        assert {loss.device for loss in towers.losses} == {"/device:CPU:0"}
        assert {gradient["a"].device for gradient in towers.gradients} == {"/device:CPU:0"}


def test_the_backward_passes_of_pinned_towers_may_stay_on_the_towers_devices():
    with tf.Graph().as_default():
        towers = built(pin_towers_to_cpu=True, pin_backward=False)
        assert {loss.device for loss in towers.losses} == {"/device:CPU:0"}
        assert [gradient["a"].device for gradient in towers.gradients] == list(DEVICES)
    with tf.Graph().as_default():
        assert [loss.device for loss in built(pin_backward=False).losses] == list(DEVICES)


def test_the_average_moves_after_the_update():
    workload = dataclasses.replace(Dyadic(), moving_average=MovingAverage(0.75, warm_up=False))
    with tf.Graph().as_default():
        towers = built(workload)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for name, value in (("a", 1.0), ("b", 2.0)):
                session.run([v1.assign(towers.variables[name], value), v1.assign(towers.averages[name], value)])
            session.run(towers.train_ops[0])
            averages = session.run(towers.averages)
    assert averages["a"] == np.float32(1.0 - 0.25 * 0.5)  # towards the new weight 0.5, not the old 1


def readers_of_statistics(**options):
    """[names of the towers whose read it waits for] of each op that changes a statistic in a step."""
    with tf.Graph().as_default() as made:
        batches = [{"x": tf.zeros([4, 6]), "labels": tf.zeros([4], tf.int32)}] * 2
        graph.build_tower_graph(Job(Everything(), 2, 8), LegacyOptions(**options), batches, DEVICES)
        changes = [op for op in made.get_operations() if op.type == "AssignVariableOp" and "norm/" not in op.name]
        return [
            [control.name.split("/")[0] for control in op.control_inputs]
            for op in changes
            if op.inputs[0].name in ("norm/moving_mean:0", "norm/moving_variance:0")
        ]


def test_statistics_change_after_every_tower_has_read_them():
    assert readers_of_statistics() == [["tower_0", "tower_1"]] * 2
    assert readers_of_statistics(updates="async") == [[], []]  # the first tower's; nobody waits


def reads_before_updates(towers):
    """(pairs of an update and a read of a weight, those of them in which the update waits for the read)."""
    ops = tf.compat.v1.get_default_graph().get_operations()
    updates = [op for op in ops if op.type == "ResourceApplyGradientDescent"]
    weights = {towers.variables[name].handle.op.name for name in ("a", "b")}
    reads = [op for op in ops if op.type == "ReadVariableOp" and op.name.startswith("tower_")]
    reads = [op for op in reads if op.inputs[0].op.name in weights]

    def before(op):
        return [*(tensor.op for tensor in op.inputs), *op.control_inputs]

    waited = sum(read in reached([update], before) for update in updates for read in reads)
    return len(updates) * len(reads), waited


def test_all_towers_have_read_a_weight_before_any_update_which_towers_alone_do_not_wait_for():
    # Dyadic's loss is linear in each weight: the gradient to one does not depend on its value.
    with tf.Graph().as_default():
        assert reads_before_updates(built()) == (8, 8)
    with tf.Graph().as_default():
        pairs, waited = reads_before_updates(built(updates="async"))
        assert waited < pairs


@pytest.mark.parametrize("exact, terms", [(True, 2), (False, 3)])
def test_where_bits_are_compared_the_parts_of_a_gradient_are_added_in_order(exact, terms):
    with tf.Graph().as_default() as made:
        built(ThreeParts(), exact=exact)
        assert max(len(op.inputs) for op in made.get_operations() if op.type == "AddN") == terms
