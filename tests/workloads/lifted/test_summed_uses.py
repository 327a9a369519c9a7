"""Gradients of weights that towers use several times, under one loss of all towers."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.summed_uses import weights_with_sums, with_sums_of_uses
from workloads.numerics import gradient_sums

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def sums_of_old_programs():
    """A standalone source sets the order in which its process adds gradients."""
    with gradient_sums.added_in_order(False):
        yield


def pairs(uses=2, penalty=False, together=True):
    """A program whose towers pass each example `uses` times through one layer; one loss of all, or one of each."""

    def build():
        xs = split_batch()
        w = v1.get_variable("w", [3, 3], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
        other = v1.get_variable("other", [3, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)

        def loss(tower):
            hidden = xs[tower]
            for _ in range(uses):
                hidden = tf.sin(tf.matmul(hidden, w))
            return tf.reduce_mean(tf.matmul(hidden, other) ** 2)

        losses = towers(loss)
        if not together:
            gradients = [tf.gradients(loss, [w, other]) for loss in losses]
            means = [tf.add_n(list(of_towers)) / TOWERS for of_towers in zip(*gradients)]
        else:
            total = tf.add_n(losses) / TOWERS + (1e-2 * tf.nn.l2_loss(w) if penalty else 0.0)
            means = v1.gradients(total, [w, other])  # without devices, and so not added by towers
        return v1.train.MomentumOptimizer(0.1, 0.9).apply_gradients(list(zip(means, [w, other])))

    return build


def with_order_of_replicas(setup):
    lift = setup.job.workload
    plan, graph = with_sums_of_uses(lift.plan, lift.graph)
    job = dataclasses.replace(setup.job, workload=dataclasses.replace(lift, plan=plan, graph=graph))
    return dataclasses.replace(setup, job=job)


@pytest.mark.parametrize("uses", [2, 3])
def test_a_replica_has_the_sum_over_its_own_uses(uses, tmp_path):
    setup = lifted(pairs(uses), tmp_path)
    source = source_of(setup, "workload")
    assert "optimizers.Momentum(momentum=0.9)" in source.text and "have the old graph's bits" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(with_order_of_replicas(setup), tmp_path, source_of(setup))


@pytest.mark.parametrize("together, weights", [(True, ["w"]), (False, [])])
def test_the_old_graph_says_whose_gradients_it_adds_tower_by_tower(together, weights, tmp_path):
    setup = with_order_of_replicas(lifted(pairs(together=together), tmp_path))
    assert weights_with_sums(setup.job.workload.plan) == weights
    with setup.legacy_program() as program:
        assert program.describe().get("gradients added tower by tower", "") == ", ".join(weights)


def test_a_use_that_is_left_out_is_seen(tmp_path):
    setup = lifted(pairs(), tmp_path)

    def stopped(text):
        changed = text.replace('tf.matmul(batch["x"], w)', 'tf.matmul(batch["x"], tf.stop_gradient(w))')
        assert changed != text
        return changed

    result = assert_workload_verified(setup, tmp_path, source_of(setup, "workload"), stopped)
    assert not result.passed and result.first.stage == "gradients"


def test_a_penalty_beside_the_uses_stays_in_the_sum(tmp_path):
    lift = lifted(pairs(penalty=True), tmp_path).job.workload
    plan, graph = with_sums_of_uses(lift.plan, lift.graph)
    (combine,) = [one for one in plan.phases[0].combine if one.weight == "w"]
    total = parse_tensor_name(combine.parts[0][0]).node
    (use,) = graph.users(total)
    assert graph.type(use.node) == "AddN" and len(graph.inputs(use.node)) == TOWERS + 1
    assert [len(graph.inputs(parse_tensor_name(own[0]).node)) for own in combine.parts] == [2, 2]


def test_the_sums_have_the_parts_in_their_order(tmp_path):
    lift = lifted(pairs(3), tmp_path).job.workload
    before = next(one for one in lift.plan.phases[0].combine if one.weight == "w")
    plan, graph = with_sums_of_uses(lift.plan, lift.graph)
    after = next(one for one in plan.phases[0].combine if one.weight == "w")
    assert np.shape(before.parts) == (TOWERS, 3) and np.shape(after.parts) == (TOWERS, 1)
    for parts, (total,) in zip(before.parts, after.parts):
        assert [tensor.name for tensor in graph.inputs(parse_tensor_name(total).node)] == parts
        assert plan.tensors[total] == plan.tensors[parts[0]]


@pytest.mark.parametrize("build", [pairs(1), pairs(2, together=False)])
def test_gradients_of_one_tensor_each_stay_as_they_are(build, tmp_path):
    lift = lifted(build, tmp_path).job.workload
    assert with_sums_of_uses(lift.plan, lift.graph) == (lift.plan, lift.graph)
