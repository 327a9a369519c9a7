"""Programs that are written for any number of towers, and the lift of one of them beside the program of another."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from tests.legacy.variants.programs import setup_of, verified
from workloads.lifted.replication import replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1
BATCH, RATE = 4, 0.125


def variable(name, shape, trainable=True, value=None):
    """A variable that all towers share, with numbers that follow from its shape."""
    start = np.linspace(-0.5, 0.5, int(np.prod(shape))).reshape(shape) if value is None else value
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        initializer = v1.constant_initializer(start)
        return v1.get_variable(name, shape, initializer=initializer, trainable=trainable, use_resource=False)


def parts(towers):
    return tf.split(v1.placeholder(tf.float32, [towers * BATCH, 3], name="x"), towers)


def in_towers(towers, make):
    """[what `make(tower)` gives], each under the device and the name scope of its tower."""
    found = []
    for tower in range(towers):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
            found.append(make(tower))
    return found


def results(x):
    return tf.tanh(tf.matmul(x, variable("w", [3, 2])))


def trained(losses, combine=None):
    """The train op of gradient descent by the mean of the losses' gradients, or by `combine(gradients)`."""
    w, towers = variable("w", [3, 2]), len(losses)
    gradients = [tf.gradients(loss, [w])[0] for loss in losses]
    combined = combine(gradients) if combine else tf.add_n(gradients) / towers
    return v1.train.GradientDescentOptimizer(RATE).apply_gradients([(combined, w)], name="train")


def lift_of(build, towers, folder):
    """The folder of the lift of what `build(towers)` makes, which returns the train op."""
    folder.mkdir(parents=True)
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        name = build(towers).name
        v1.train.export_meta_graph(str(folder / "graph.meta"))
    out = str(folder / "lifted")
    lift_graph(str(folder / "graph.meta"), out, options=LiftOptions(train_op=[name]))
    return out


def state_after(setup, steps=3):
    with setup.legacy_program() as program:
        records = [program.step() for _ in range(steps)]
    state = records[-1].state
    return {**state.weights, **state.statistics}


def assert_as_built(build, tmp_path, towers=2, replicas=4, left_out=()):
    """Asserts that a lift at another number of replicas takes the steps of the program with as many towers."""
    out = lift_of(build, towers, tmp_path / "few")
    assert replica_counts(setup_of(out).job.workload.plan) == "any number"
    setup = dataclasses.replace(setup_of(out, replicas), replicated=True)
    result = verified(setup, 3)
    assert result.passed, result.first
    found, wanted = state_after(setup), state_after(setup_of(lift_of(build, replicas, tmp_path / "many")))
    assert len(found) > len(left_out)
    for name in found.keys() - set(left_out):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-6, atol=1e-7, err_msg=name)


def assert_own_number(build, reason, tmp_path, towers=2):
    """Asserts that a lift runs at its own number of towers, and is refused at others on both sides, with the reason."""
    out = lift_of(build, towers, tmp_path / "few")
    assert replica_counts(setup_of(out).job.workload.plan) == f"{towers} only: {reason}"
    result = verified(setup_of(out), 3)
    assert result.passed, result.first
    others = dataclasses.replace(setup_of(out, 2 * towers), replicated=True)
    for make in (others.legacy_program, others.modern_program):
        with pytest.raises(InputError, match=f"--replicas: got {2 * towers}, "), make() as made:
            made.step()
