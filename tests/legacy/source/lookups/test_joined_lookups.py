"""A table that encoder and decoder look up, with a loop between them: 1.x's gradient has the decoder's rows first."""

import pytest
import tensorflow as tf

from legacy.source.lookups import joined_lookups
from legacy.source.lookups.joined_lookups import with_joined_lookups
from legacy.source.lookups.variables_taken import variable_behind, variables_taken
from tests.legacy.saved.graphs import traced
from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
ROWS, WORDS = 4, 5


def table():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        initializer = v1.random_normal_initializer(seed=1)
        return v1.get_variable("table", [ROWS, 3], initializer=initializer, use_resource=False)


def recurrent(x, state, has_loop):
    """The last state of a recurrent layer on x [examples, WORDS, 3]."""
    if not has_loop:
        for number in range(WORDS):
            state = tf.tanh(state * 0.7 + x[:, number])
        return state
    steps = tf.transpose(x, [1, 0, 2])

    def step(number, state):
        return number + 1, tf.tanh(state * 0.7 + steps[number])

    return v1.while_loop(lambda number, state: number < WORDS, step, [0, state])[1]


def sequence_model(has_loop=True, dtype=tf.int32, follows=False):
    @with_old_cond
    def build():
        source = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, WORDS], name="source"), TOWERS)
        target = tf.split(v1.placeholder(dtype, [TOWERS * BATCH, WORDS], name="target"), TOWERS)

        def gradient(tower):
            read = tf.nn.embedding_lookup(table(), source[tower])
            words = tf.concat([tf.ones([BATCH, 1], dtype), target[tower][:, :-1]], 1)
            if follows:
                words = words * tf.cast(read[:, :, 0] > 0.0, dtype)
            given = tf.nn.embedding_lookup(table(), words)
            for _ in range(5):  # farther from the loss than the encoder's, as today's loops are single ops
                given = tf.tanh(given * 1.5)
            state = recurrent(given, recurrent(read, tf.zeros([BATCH, 3]), has_loop), has_loop)
            return tf.convert_to_tensor(tf.gradients(tf.reduce_mean(state**2), [table()])[0])

        return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, table())])

    return build


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_both_are_looked_up_at_once_in_the_order_of_the_old_gradient(dtype, tmp_path):
    setup = lifted(sequence_model(dtype=dtype), tmp_path)
    source = source_of(setup, "workload")
    assert source.text.count("tf.nn.embedding_lookup(") == 1
    assert "  * net/table: looked up at once where the old program looks up on both sides of a loop" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_the_other_order_of_the_rows_is_seen(tmp_path, monkeypatch):
    setup, groups = lifted(sequence_model(), tmp_path), joined_lookups._groups
    monkeypatch.setattr(joined_lookups, "_groups", lambda *given: [group[::-1] for group in groups(*given)])
    source = source_of(setup, "workload")
    assert "have the old graph's bits" not in source.text
    assert not assert_workload_verified(setup, tmp_path, source, lambda text: text + "\n").passed


def test_lookups_of_different_towers_stay_apart(tmp_path):
    """One optimizer on the mean of the towers' losses: the old gradient joins the rows of all towers."""

    @with_old_cond
    def build():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, WORDS], name="words"), TOWERS)

        def loss(tower):
            given = tf.nn.embedding_lookup(table(), words[tower])
            return tf.reduce_mean(recurrent(given, tf.zeros([BATCH, 3]), has_loop=True) ** 2)

        mean = tf.add_n(towers(loss)) / TOWERS
        return v1.train.GradientDescentOptimizer(0.5).minimize(mean, var_list=[table()])

    setup = lifted(build, tmp_path)
    lift = setup.job.workload
    assert with_joined_lookups(lift.plan, lift.graph) == (lift.plan, lift.graph)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))


@pytest.mark.parametrize("changes", [{"has_loop": False}, {"follows": True}])
def test_lookups_without_a_loop_and_of_what_was_looked_up_stay_as_they_are(changes, tmp_path):
    lift = lifted(sequence_model(**changes), tmp_path).job.workload
    assert with_joined_lookups(lift.plan, lift.graph) == (lift.plan, lift.graph)


def test_variables_are_found_behind_copies():
    def build():
        tf.multiply(tf.identity(table()), 2.0, name="product")

    graph = traced(build)
    assert variables_taken(graph, "product") == [variable_behind(graph, "net/table")] == ["net/table"]
    assert variable_behind(graph, "product") == "" and variables_taken(graph, "") == []
