"""Updates written by hand whose slots have names of their own: one loop over the weights, with a table of slots."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1
SHAPES = {"in": [3, 3], "middle": [3, 3], "out": [3, 3]}


def weights_of():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        initializer = v1.glorot_uniform_initializer(seed=1)
        return [v1.get_variable(n, s, initializer=initializer, use_resource=False) for n, s in SHAPES.items()]


def momentum_by_hand():
    """Clipped gradients with momentum in variables that are called `Variable`, `Variable_1` and so on."""
    xs = split_batch()

    def gradients(tower):
        x = xs[tower]
        for weight in weights_of():
            x = tf.tanh(tf.matmul(x, weight))
        return tf.gradients(tf.reduce_mean(x**2), weights_of())

    means = [tf.add_n(own) / TOWERS for own in zip(*towers(gradients))]
    clipped, _ = tf.clip_by_global_norm(means, 0.125)
    changes = []
    for weight, gradient in zip(weights_of(), clipped):
        slot = v1.Variable(tf.zeros(weight.shape), trainable=False, use_resource=False)
        moved = 0.5 * slot + gradient
        changes += [slot.assign(moved), weight.assign(weight - 0.25 * moved)]
    return tf.group(*changes, name="train")


def test_slots_of_other_names_are_in_a_table(tmp_path):
    lines = source_of(lifted(momentum_by_hand, tmp_path)).text.splitlines()
    assert 'SLOTS_OF = {"net/in": ("Variable",), "net/middle": ("Variable_1",), "net/out": ("Variable_2",)}' in (
        line.partition("  #")[0] for line in lines
    )
    assert any("tf.linalg.global_norm([gradients[name] for name in WEIGHTS])" in line for line in lines)
    assert "        variables[SLOTS_OF[name][0]].assign(average)" in lines
    assert sum("SLOTS_OF[name][0]].assign(" in line for line in lines) == 1, "one loop"


def test_such_an_update_trains_with_the_bits_of_the_lift(tmp_path):
    setup = lifted(momentum_by_hand, tmp_path)
    assert_trains_alike(setup, tmp_path)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))


def test_slots_of_other_weights_do_not_train_alike(tmp_path):
    setup = lifted(momentum_by_hand, tmp_path)
    source = source_of(setup)
    changed = source.text.replace('"net/in": ("Variable",)', '"net/in": ("Variable_1",)')
    assert changed != source.text
    with pytest.raises(AssertionError):
        assert_trains_alike(setup, tmp_path, source._replace(text=changed))
