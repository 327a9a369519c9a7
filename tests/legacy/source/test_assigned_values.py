"""Values that a forward pass assigns to a variable and reads again, whose gradients end there, as sources."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, plain, split_batch, towers
from tests.legacy.variants.test_assigned_values import padded

v1 = tf.compat.v1
STOPPED = "tf.stop_gradient("


def weight():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def added_to_rows(value, tower):
    """A value whose rows are added to others in a variable of zeros, as warping forward does."""
    memory = plain(f"memory_{tower}", [BATCH, 2])
    with tf.control_dependencies([v1.assign(memory, tf.zeros([BATCH, 2]))]):
        return tf.reshape(v1.scatter_add(memory, [2, 0, 2], value[:3]), [BATCH, 2])


def assigned(value, tower):
    return tf.reshape(v1.assign(plain(f"memory_{tower}", [BATCH, 2]), value), [BATCH, 2])


def copied(value, tower):
    """As `assigned`; a copy of the variable is the variable itself, and no gradient needs the loss that takes it."""
    return tf.identity(v1.assign(plain(f"memory_{tower}", [BATCH, 2]), value))


def assigned_by_a_handle(value, tower):
    memory = v1.get_variable(f"memory_{tower}", [BATCH, 2], trainable=False, use_resource=True)
    return tf.identity(memory.assign(value))


def masked(keep):
    """A graph whose towers weigh their losses by numbers that are computed from weights and kept in a variable."""
    xs = split_batch()

    def gradient(tower):
        predicted = tf.matmul(xs[tower], weight())
        mask = keep(tf.sigmoid(predicted), tower)
        return tf.gradients(tf.reduce_mean(tf.square(predicted) * mask), weight())[0]

    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean_of_all(towers(gradient)), weight())])


def mean_of_all(gradients):
    return tf.add_n(gradients) / TOWERS


@pytest.mark.parametrize("keep", [added_to_rows, assigned, copied, assigned_by_a_handle])
@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_no_gradient_passes_an_assignment(keep, style, tmp_path):
    setup = lifted(lambda: masked(keep), tmp_path)
    source = source_of(setup, style)
    assert STOPPED in source.text
    (assert_workload_verified if style == "workload" else assert_trains_alike)(setup, tmp_path, source)


def test_a_gradient_passes_a_value_that_no_variable_keeps(tmp_path):
    setup = lifted(lambda: masked(lambda value, _: tf.identity(value)), tmp_path)
    source = source_of(setup, "workload")
    assert STOPPED not in source.text
    assert_workload_verified(setup, tmp_path, source)


def test_a_weight_gets_its_gradient_though_the_step_has_set_a_row_of_it(tmp_path):
    setup = lifted(padded, tmp_path)
    assert "StopGradient" not in set(map(setup.job.workload.graph.type, setup.job.workload.graph.nodes))
