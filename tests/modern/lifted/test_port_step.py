"""The step of a port that is written as functions, on two replicas: what it reports in the terms of the lift."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from modern.lifted.port_step import PortStep
from modern.mirrored.state.variables import LocalState
from tests.modern.lifted.replicas import on_replicas
from tests.small_lift import small_lift
from workloads.job import Job
from workloads.lifted.pieces.noise import noise_key
from workloads.lifted.workload import PortOfLift
from workloads.steps.workload import StepWorkload
from workloads.workload import InputSpec

SEED, STEP = 5, 3
X = np.array([[1, 2], [3, 4]], np.int32)


def product(scope, batch):
    return scope.get("w", ()) * tf.reduce_sum(batch["numbers"])


def drawn(scope, batch):
    return scope.get("w", ()) * tf.reduce_sum(batch["numbers"] * scope.uniform("drop", (2,)))


def part_of_mean(scope, batch):
    return product(scope, batch) / scope.replicas


def rows(scope, batch):
    return tf.reduce_sum(tf.gather(scope.get("w", (3,)), tf.cast(batch["numbers"], tf.int32) % 3) * 4.0)


@dataclasses.dataclass(frozen=True)
class Differentiated(StepWorkload):
    """A port with one train op, which differentiates a loss and changes nothing."""

    name: str = "differentiated"
    of: object = product

    def inputs(self):
        return {"numbers": InputSpec(())}

    def losses(self):
        return [self.of]

    def train_ops(self):
        def train(scope, batch, variables, context):
            loss = self.of(scope, batch)
            scope.gradients(loss, ["w"])
            return loss

        return [train]


def step_of(folder, loss, weight, change):
    """A step of a port, and each replica's number of steps."""
    port = PortOfLift(Differentiated(of=loss), {"numbers": "x"}, {"drop": "stream"})
    lift = dataclasses.replace(small_lift(str(folder / "lift"), change), port=port)
    counts = [tf.Variable(STEP, dtype=tf.int64) for _ in range(4)]
    copies = [LocalState(k, count, {"w": tf.Variable(weight)}, {}, {}, {}) for k, count in enumerate(counts)]
    return PortStep(Job(lift, 2, seed=SEED), 0, types.SimpleNamespace(local=copies.__getitem__)), counts


def ran(folder, loss=product, weight=2.0, change=lambda plan: None):
    """What each replica reports of a step; tower k's batch is X[k], which the lift has as integers."""
    step, counts = step_of(folder, loss, weight, change)
    found = on_replicas(2, lambda context, replica: step({"x": tf.constant(X[replica])}))
    assert step.traces == 2 and [int(count) for count in counts] == [STEP + 1] * 2 + [STEP] * 2
    return found


def test_each_replica_reports_its_loss_and_gradients_by_the_lifts_labels(tmp_path):
    first, second = ran(tmp_path)
    assert (first.losses, first.gradients) == ([6.0], {"w": 3.0})
    assert (second.losses, second.gradients) == ([14.0], {"w": 7.0})
    assert (first.combined, first.learning_rates, first.taps, first.tap_gradients) == ({}, [], {}, {})


@pytest.mark.parametrize("shared, loss", [(False, 3.0), (True, 1.5)])
def test_parts_of_the_replicas_mean_are_reported_as_parts_of_the_towers(shared, loss, tmp_path):
    """Four replicas in place of two towers: each has a quarter of its loss, where a tower had half."""

    def change(plan):
        plan.phases[0].loss_scale, plan.phases[0].shared_loss = 0.5, shared

    step, _ = step_of(tmp_path, part_of_mean, 2.0, change)
    step._job = Job(step._job.workload, 4, seed=SEED)
    x = tf.concat([tf.constant(X), tf.zeros([2, 2], tf.int32)], 0)
    first = on_replicas(4, lambda context, replica: step({"x": x[replica]}))[0]
    assert (first.losses, first.gradients) == ([loss], {"w": 1.5})


def test_a_lift_that_does_not_tell_its_losses_gets_none_of_the_ports(tmp_path):
    first, _ = ran(tmp_path, change=lambda plan: setattr(plan.phases[0], "losses", []))
    assert (first.losses, first.gradients) == ([], {"w": 3.0})


def test_noise_has_the_keys_of_the_lifts_streams(tmp_path):
    for replica, found in enumerate(ran(tmp_path, drawn)):
        key = [noise_key(SEED, replica, "stream"), STEP]
        numbers = tf.raw_ops.StatelessRandomUniform(shape=[2], seed=key, dtype=tf.float32).numpy()
        assert found.gradients["w"] == np.sum(X[replica] * numbers, dtype=np.float32)


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["w", "w (indices)"], {"w": [4.0, 4.0], "w (indices)": [1, 2]}),
        (["w"], {"w": [0.0, 4.0, 4.0]}),
        (["w", "v"], {"w": [0.0, 4.0, 4.0], "v": 0.0}),
    ],
)
def test_a_sparse_gradient_has_rows_where_the_lifts_has(labels, expected, tmp_path):
    def change(plan):
        plan.phases[0].gradients = [dict.fromkeys(labels, "g0:0"), {}]

    first, _ = ran(tmp_path, rows, [1.0, 1.0, 1.0], change)
    assert {label: value.tolist() for label, value in first.gradients.items()} == expected


@pytest.mark.parametrize("differences, tower", [([], 0), (["one tower has dropout"], 1)])
def test_a_replica_plays_the_part_of_its_tower(differences, tower, tmp_path):
    step, _ = step_of(tmp_path, product, 2.0, lambda plan: setattr(plan, "differences", differences))
    assert [step.tower(replica) for replica in range(2)] == [0, 1]
    step._job = Job(step._job.workload, 3)  # more replicas than towers
    assert step.tower(2) == tower
    assert step.describe_reduction("ring") == "written, with ring"
