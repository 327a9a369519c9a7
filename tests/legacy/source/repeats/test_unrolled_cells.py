"""Cells that are unrolled in scopes called after an idiom, as `gru_cell` is."""

import tensorflow as tf

from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
SIZE, STEPS = 3, 6


def gru(x, state, layer):
    """A step of the GRU of 1.x, whose ops are in a scope of their own."""

    def weighted(name, inputs, units, start):
        with v1.variable_scope(name):
            kernel = v1.get_variable("kernel", [2 * SIZE, units], use_resource=False)
            bias = v1.get_variable("bias", [units], initializer=v1.constant_initializer(start), use_resource=False)
            return tf.nn.bias_add(tf.matmul(tf.concat(inputs, 1), kernel), bias)

    with v1.variable_scope(f"cell_{layer}/gru_cell", reuse=v1.AUTO_REUSE):
        reset, update = tf.split(tf.sigmoid(weighted("gates", [x, state], 2 * SIZE, 1.0)), 2, 1)
        candidate = tf.tanh(weighted("candidate", [x, reset * state], SIZE, 0.0))
        return update * state + (1.0 - update) * candidate


def two_layers_both_ways():
    """Two layers, each forwards and backwards in time, as `static_bidirectional_rnn` has them."""
    parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, STEPS, SIZE], "x"), TOWERS)

    def loss(tower):
        inputs, outputs = tf.unstack(parts[tower], axis=1), []
        for way in range(2):
            states, results = [tf.zeros([BATCH, SIZE])] * 2, []
            for made in inputs[:: 1 - 2 * way]:
                for layer in range(2):
                    made = states[layer] = gru(made, states[layer], f"{way}{layer}")
                results.append(made)
            outputs.append(results[:: 1 - 2 * way])
        joined = [tf.concat(pair, 1) for pair in zip(*outputs)]
        return tf.add_n([tf.reduce_sum(tf.square(one)) for one in joined])

    optimizer = v1.train.GradientDescentOptimizer(0.125)
    found = towers(lambda tower: [gradient for gradient, _ in optimizer.compute_gradients(loss(tower))])
    means = [tf.add_n(pair) / TOWERS for pair in zip(*found)]
    return optimizer.apply_gradients(zip(means, v1.trainable_variables()))


def test_no_function_has_the_name_of_an_idiom_that_the_lines_call(tmp_path):
    setup = lifted(two_layers_both_ways, tmp_path)
    source = source_of(setup, "workload")
    names = [line.partition("(")[0] for line in source.text.splitlines() if line.startswith("def ")]
    assert "def gru_cell" in names and len(names) == len(set(names))
    assert_workload_verified(setup, tmp_path, source)
