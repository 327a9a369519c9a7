"""Order in which the parts of gradients are added: of loops that have a value several times, and of lookups."""

import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1
IN_ORDER = "\ntf.AggregationMethod.DEFAULT = tf.AggregationMethod.EXPERIMENTAL_TREE"


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def repeated(one_iteration, turns=4):
    """Training of a weight [3, 3] that `one_iteration(state, w, turn)` uses in each iteration."""

    @with_old_cond
    def build():
        xs, w = split_batch(), weight("w", [3, 3])

        def gradient(tower):
            def step(turn, state):
                return turn + 1, one_iteration(state, w, turn)

            _, last = v1.while_loop(lambda turn, state: turn < turns, step, [0, xs[tower]])
            return tf.gradients(tf.reduce_mean(last**2), [w])[0]

        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, w)])

    return build


def state_three_times(state, w, turn):
    x = tf.matmul(state, w)
    return tf.tanh(x) * tf.exp(-x * x) + 0.3 * x


@with_old_cond
def copied_in_a_loop():
    """A state that a copy hands to two ops, as attention has a cell's output, beside the next iteration."""
    xs, w = split_batch(), weight("w", [3, 3])

    def gradient(tower):
        def step(turn, state, total):
            x = tf.tanh(tf.matmul(state, w))
            copy = tf.identity(x)
            return turn + 1, x, total + tf.exp(copy) * 0.3 + tf.tanh(tf.matmul(copy, w))

        _, _, total = v1.while_loop(lambda turn, *_: turn < 4, step, [0, xs[tower], tf.zeros([BATCH, 3])])
        return tf.gradients(tf.reduce_mean(total**2), [w])[0]

    return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, w)])


def weight_once(state, w, turn):
    return tf.tanh(tf.matmul(state, w))


def weight_three_times(state, w, turn):
    return tf.tanh(tf.matmul(tf.tanh(tf.matmul(state, w)) + 0.7 * tf.matmul(state, tf.tanh(w)), w * 1.1))


def rows_in_a_loop(state, w, turn):
    return tf.tanh(state + tf.nn.embedding_lookup(w, tf.fill([BATCH], turn % 3)))


def two_lookups_of_other_lengths():
    """A table that is read twice, of which one way to the loss has a reshape more, to the same shape."""
    xs, table = split_batch(), weight("w", [3, 3])

    def gradient(tower):
        ids = tf.range(BATCH) % 3
        one = tf.tanh(tf.reshape(tf.nn.embedding_lookup(table, ids), [BATCH, 3]) * xs[tower])
        two = tf.tanh(tf.nn.embedding_lookup(table, ids // 2) * xs[tower])
        return tf.convert_to_tensor(tf.gradients(tf.reduce_mean((one + two) ** 2), [table])[0])

    return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, table)])


PROGRAMS = {
    "copied_in_a_loop": copied_in_a_loop,
    "state_three_times": repeated(state_three_times),
    "weight_once": repeated(weight_once),
    "weight_three_times": repeated(weight_three_times),
    "two_lookups_of_other_lengths": two_lookups_of_other_lengths,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_source_trains_with_the_bits_of_the_old_graph(name, tmp_path):
    setup = lifted(PROGRAMS[name], tmp_path)
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_loop_with_three_parts_of_a_gradient_adds_them_in_order(tmp_path):
    assert IN_ORDER in source_of(lifted(repeated(state_three_times), tmp_path)).text
    (tmp_path / "other").mkdir()
    assert IN_ORDER not in source_of(lifted(repeated(weight_once), tmp_path / "other")).text


def test_a_weight_that_a_loop_uses_once_needs_no_copy(tmp_path):
    assert "tf.identity(" in source_of(lifted(repeated(weight_three_times), tmp_path)).text
    (tmp_path / "other").mkdir()
    assert "tf.identity(" not in source_of(lifted(repeated(weight_once), tmp_path / "other")).text


def test_a_source_says_why_the_rows_that_a_loop_looks_up_differ(tmp_path):
    source = source_of(lifted(repeated(rows_in_a_loop), tmp_path), "workload")
    assert "net/w of tower 0" in source.text and "rows that a loop looks up in each" in " ".join(source.text.split())
