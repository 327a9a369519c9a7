"""Faults that rounding could hide: none passes under auto, beside biases before batch norm and at rectifiers' kinks."""

import dataclasses

import pytest
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.comparison import stages
from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from parity.experiments.awkward_net import AWKWARD
from tests.cases import setup
from workloads import optimizers, schedules
from workloads.selection import registry

MILLIONTH = 1 + 1e-6


def verified(workload, change=None, steps=4):
    made = dataclasses.replace(setup(workload, 2, modern={"all_reduce": "auto"}), port=change)
    with made.legacy_program() as left, made.modern_program() as right, made.closing_references() as references:
        return verify(left, right, made.job, steps, Criterion("locked", "auto"), Companions(references=references))


def of_optimizer(**changes):
    return injection.in_workload(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **changes)})


def of_gradients(change, every=1, name=""):
    """Changes the replicas' gradients of the weights that `name` begins, in every so many-th step."""

    class Changed(ReplicaStep):
        def _forward_backward(self, local, step, replica, batch):
            loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
            acts = tf.equal(tf.cast(step, tf.int64) % every, every - 1)
            changed = {n: tf.where(acts, change(v), v) if n.startswith(name) else v for n, v in gradients.items()}
            return (loss, changed, *rest)

    return injection.in_replica_step(Changed)


def awkward(optimizer):
    return dataclasses.replace(AWKWARD["awkward_momentum"], optimizer=optimizer)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "awkward_adam" else SLOW) for n in AWKWARD])
def test_a_sound_port_passes_though_some_gradients_are_noise(name):
    result = verified(AWKWARD[name])
    assert result.passed, result.first
    assert any("hidden0/biases" in tensor for tensor in result.noise)
    assert result.double[stages.GRADIENTS].failed is None and result.single_only == ""


HIDDEN_BY_NOISE = {
    "other_momentum": of_optimizer(momentum=0.8),
    "nesterov": of_optimizer(nesterov=True),
    "a_layer_that_is_never_updated": of_gradients(tf.zeros_like, name="hidden1"),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[SLOW] * (i > 0)) for i, n in enumerate(HIDDEN_BY_NOISE)])
def test_noise_in_one_tensor_hides_nothing_in_another(name):
    assert not verified(AWKWARD["awkward_momentum"], HIDDEN_BY_NOISE[name]).passed


@SLOW
@pytest.mark.parametrize("workload", ["regression", "stacked_lstm", "awkward"])
def test_a_fault_in_every_third_step_is_no_kink(workload):
    workload = AWKWARD.get(workload + "_momentum") or registry.get(workload)
    result = verified(workload, of_gradients(lambda value: value * 1.01, every=3), steps=6)
    assert (result.passed, result.first.step, result.first.stage) == (False, 2, stages.GRADIENTS)


MILLIONTHS = {
    "one_tensors_gradient": (
        optimizers.Momentum(),
        of_gradients(lambda value: value * MILLIONTH, name="logits/biases"),
    ),
    "momentum": (optimizers.Momentum(), of_optimizer(momentum=0.9 * MILLIONTH)),
    "learning_rate": (
        optimizers.Momentum(),
        injection.in_workload(lambda job: {"learning_rate": schedules.Fixed(0.125 * MILLIONTH)}),
    ),
    "epsilon": (optimizers.Adam(), of_optimizer(epsilon=1e-8 * MILLIONTH)),
    "beta2": (optimizers.Adam(), of_optimizer(beta2=0.999 * MILLIONTH)),
    "decay": (optimizers.RMSProp(), of_optimizer(decay=0.9 * MILLIONTH)),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[SLOW] * (i > 0)) for i, n in enumerate(MILLIONTHS)])
def test_a_millionth_is_found_in_a_float32_program(name):
    optimizer, change = MILLIONTHS[name]
    assert not verified(awkward(optimizer), change, steps=3).passed
