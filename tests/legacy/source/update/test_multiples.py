"""Gradients that are multiples of the towers' mean: reduced, then multiplied, at any number of replicas."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted

v1 = tf.compat.v1


def two_layers(multiply, scale=1.0):
    """Returns a function that makes two towers, each of which multiplies its gradients by what `multiply` gives."""

    def build():
        rows, gradients = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2), []
        for tower, x in enumerate(rows):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=tower > 0):
                w = v1.get_variable("w", [3, 2], use_resource=False)
                b = v1.get_variable("b", [2], initializer=v1.zeros_initializer(), use_resource=False)
                loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.5)) * scale
                own = tf.gradients(loss, [w, b])
                gradients.append([gradient * multiply(name) for name, gradient in zip("wb", own)])
        mean = [tf.reduce_mean(tf.stack(row), 0) for row in zip(*gradients)]
        return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(mean, [w, b]), name="train")

    return build


@pytest.mark.parametrize(
    "program, line",
    [
        (
            two_layers(lambda name: 2.0 if name == "b" else 1.0),
            '    for name in ["b"]:\n        gradients[name] *= 2.0\n',
        ),
        (two_layers(lambda name: 0.125, 8.0), "{name: gradient * 0.125 for name, gradient in gradients.items()}"),
    ],
)
def test_the_source_multiplies_what_is_reduced_and_runs_at_any_number_of_replicas(program, line, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert line in source.text and "ReduceOp.MEAN" in source.text and "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    added = assert_port_verified(
        setup, tmp_path, source, replicas=4, changed=lambda text: text.replace("ReduceOp.MEAN", "ReduceOp.SUM")
    )
    assert not added.passed


def test_a_factor_that_rounds_is_applied_to_each_towers_gradient(tmp_path):
    setup = lifted(two_layers(lambda name: 0.3 if name == "b" else 1.0), tmp_path)
    source = source_of(setup, "workload")
    assert "replicas: int = 2" in source.text and "gather(context, gradient)" in source.text
    assert_port_verified(setup, tmp_path, source)


def momentum_by_hand(divide):
    """A momentum that an author wrote, of 0.3 times what `divide` makes of the sum of the towers' gradients."""

    def build():
        rows, gradients = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2), []
        for tower, x in enumerate(rows):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=tower > 0):
                w = v1.get_variable("w", [3, 2], use_resource=False)
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 0.5)), w)[0])
        sum_ = v1.get_variable("sum", [3, 2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)
        new = 0.9 * sum_ + 0.3 * divide(tf.add_n(gradients))
        return tf.group(v1.assign(sum_, new), v1.assign_sub(w, new), name="train")

    return build


def test_constants_of_an_update_by_hand_multiply_the_mean_of_all_replicas(tmp_path):
    setup = lifted(momentum_by_hand(lambda total: total / 2.0), tmp_path)
    source = source_of(setup, "workload")
    assert "ReduceOp.MEAN, gradients)" in source.text and ' + 0.3 * gradients["w"]' in source.text
    assert "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)


def test_a_sum_that_no_constant_divides_by_the_towers_stays_as_it_was(tmp_path):
    setup = lifted(momentum_by_hand(lambda total: total / 5.0), tmp_path)
    source = source_of(setup, "workload")
    assert "ReduceOp.MEAN" not in source.text
    assert_port_verified(setup, tmp_path, source)
