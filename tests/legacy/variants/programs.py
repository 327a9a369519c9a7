"""Parts of tower programs in the styles of 2016-2019, and the comparison of their lifts with the old graph."""

import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.saved.lifting import LiftOptions, lift_graph
from modern.options import ModernOptions
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from workloads.job import Job
from workloads.lifted.sources import LiftedSynthetic
from workloads.selection import registry

v1 = tf.compat.v1
TOWERS, BATCH = 2, 4


def weights():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def towers(make_loss, device="/gpu:{}", scope="tower_{}"):
    """[what `make_loss(tower)` gives] for each tower, under its device and its name scope."""
    results = []
    for tower in range(TOWERS):
        with tf.device(device.format(tower) if device else None), v1.name_scope(scope.format(tower) if scope else None):
            results.append(make_loss(tower))
    return results


def lifted(build, tmp_path, **options):
    """`Setup` of a program that `build` makes in a graph of its own; it returns the train op."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        name = build().name
        path = str(tmp_path / "graph.meta")
        v1.train.export_meta_graph(path)
    out = str(tmp_path / "lifted")
    lift_graph(path, out, options=LiftOptions(**{"train_op": [name], **options}))
    return setup_of(out)


def setup_of(out, replicas=None, make_source=LiftedSynthetic, **modern):
    job = Job(registry.get(out), replicas or registry.get(out).plan.towers, None)
    return Setup(job, make_source, LegacyOptions(exact=True), ModernOptions(exact=True, **modern))


def verified(setup, steps=5):
    with setup.legacy_program() as left, setup.modern_program() as right:
        return verify(left, right, setup.job, steps)


def assert_same(setup, steps=5):
    result = verified(setup, steps)
    assert result.passed, result.first
    assert result.stages["gradients"].tensors and result.stages["weights"].tensors


def split_batch():
    x = v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x")
    return tf.split(x, TOWERS)


def sum_of_squares(x):
    return tf.reduce_sum(tf.tanh(tf.matmul(x, weights())) ** 2)


def apply(gradients, rate=0.1):
    return v1.train.GradientDescentOptimizer(rate).apply_gradients([(gradients, weights())])


def mean_of(gradients):
    return apply(tf.add_n(gradients) / TOWERS)


def plain(name, shape, value=0.0):
    """A variable that is not in the collection of trainable ones."""
    initializer = v1.constant_initializer(value)
    return v1.get_variable(name, shape, initializer=initializer, trainable=False, use_resource=False)


def gradient_of(x):
    return tf.gradients(sum_of_squares(x), [weights()])[0]
