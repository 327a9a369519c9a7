"""Loops as text: a function of one iteration and `tf.while_loop`; the text computes what the graph computes."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Definition
from legacy.source.definitions.loops import LoopFunction
from legacy.source.functions.function_lines import function_lines
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.lines.statements import build_statements
from tests.legacy.source import tiny

v1 = tf.compat.v1
TIME, UNITS = 5, 3


def recurrent(x, kernel):
    """The last state and all states of tanh(x_t + state @ kernel)."""

    def body(time, states, state):
        state = tf.tanh(inputs.read(time) + tf.matmul(state, kernel))
        return [time + 1, states.write(time, state), state]

    inputs = tf.TensorArray(tf.float32, TIME).unstack(tf.transpose(x, [1, 0, 2]))
    states = tf.TensorArray(tf.float32, TIME, element_shape=[None, UNITS])
    start = tf.zeros([tf.shape(x)[0], UNITS])
    _, states, last = v1.while_loop(lambda time, *_: time < TIME, body, [0, states, start])
    return tf.reduce_sum(states.stack()) + tf.reduce_sum(last)


def written(build, inputs, variables):
    """The lines of a program with loops, its functions first."""
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        recovery, (end,) = tiny.recovered(build, inputs, variables)
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()
    assert all(isinstance(made, LoopFunction) for made in recovery.loops.values())
    statements = build_statements([*recovery.ordered([end]), Definition((), end)])
    lines = [line for loop in recovery.loops.values() for line in [*loop.lines, ""]]
    return lines + function_lines("f(scope, batch)", "Computes.", statements, recovery.shape, {}, 'batch["x"]')


def value_of(lines, x, kernel):
    """What the lines of a program compute."""

    class Scope:
        def get(self, name, shape, *rest):
            return tf.constant(kernel)

    space = {"tf": tf}
    exec("\n".join(lines), space)
    return space["f"](Scope(), {"x": tf.constant(x)}).numpy()


def test_a_recurrent_cell_is_a_function_of_its_step():
    lines = written(recurrent, {"x": [TIME, UNITS]}, {"kernel": [UNITS, UNITS]})
    assert lines[0] == "def rnn_step(inputs, kernel, time, outputs, state):"
    assert lines[2:4] == [
        "    x = tf.tanh(inputs.read(time) + tf.matmul(state, kernel))",
        "    return [time + 1, outputs.write(time, x), x]",
    ]
    text = "\n".join(lines)
    assert "lambda time, outputs, state: time < 5" in text and "_, outputs, state = tf.while_loop(" in text
    assert "lambda *state: rnn_step(inputs, kernel, *state)" in text


def test_a_function_with_many_parameters_is_broken_behind_its_name_also_a_second_one():
    names = [f"a_weight_with_a_long_name_{number}" for number in "abcdefgh"]

    def looped(x, weights, change):
        def body(turn, state):
            for weight in weights:
                state = change(tf.matmul(state, weight))
            return [turn + 1, state]

        return tf.reduce_sum(v1.while_loop(lambda turn, _: turn < TIME, body, [0, x])[1])

    def build(x, **weights):
        return looped(x, weights.values(), tf.tanh) + looped(x, weights.values(), tf.sin)

    lines = written(build, {"x": [UNITS]}, dict.fromkeys(names, [UNITS, UNITS]))
    assert [line for line in lines if line.startswith("def ")][:2] == ["def rnn_step(", "def loop_step("]
    assert max(map(len, lines[:4])) <= WIDTH
    compile("\n".join(lines), "source", "exec")
    lines = written(
        lambda x, **weights: build(x, **weights) + looped(x, weights.values(), lambda y: tf.tanh(y) + 1.0),
        {"x": [UNITS]},
        dict.fromkeys(names, [UNITS, UNITS]),
    )
    assert "def rnn_step2(" in lines
    compile("\n".join(lines), "source", "exec")


def test_the_text_of_a_loop_computes_what_the_graph_computes():
    rng = np.random.RandomState(0)
    x, kernel = (rng.randn(*shape).astype(np.float32) for shape in ((6, TIME, UNITS), (UNITS, UNITS)))
    lines = written(recurrent, {"x": [TIME, UNITS]}, {"kernel": [UNITS, UNITS]})

    assert value_of(lines, x, kernel) == recurrent(tf.constant(x), tf.constant(kernel)).numpy()


def test_two_loops_that_do_the_same_share_their_function():
    def build(x, kernel):
        return recurrent(x, kernel) + recurrent(2.0 * x, kernel)

    text = "\n".join(written(build, {"x": [TIME, UNITS]}, {"kernel": [UNITS, UNITS]}))
    assert text.count("def rnn_step") == 1 and text.count("tf.while_loop(") == 2


def decoder(x, kernel):
    """The last state; each step reads the next input, and after the last one there is none."""

    def body(time, state, now):
        state = tf.tanh(now + tf.matmul(state, kernel))
        ended = time + 1 >= TIME
        return [time + 1, state, v1.cond(ended, lambda: tf.zeros_like(now), lambda: inputs.read(time + 1) * 2.0)]

    inputs = tf.TensorArray(tf.float32, TIME).unstack(tf.transpose(x, [1, 0, 2]))
    start = tf.zeros([tf.shape(x)[0], UNITS])
    return tf.reduce_sum(v1.while_loop(lambda time, *_: time < TIME, body, [0, start, inputs.read(0)])[1])


def test_what_a_branch_alone_may_read_is_read_in_the_branch():
    lines = written(decoder, {"x": [TIME, UNITS]}, {"kernel": [UNITS, UNITS]})
    (choice,) = [line for line in lines if "tf.cond(" in line]
    assert "lambda: inputs.read(" in choice
    rng = np.random.RandomState(0)
    x, kernel = (rng.randn(*shape).astype(np.float32) for shape in ((6, TIME, UNITS), (UNITS, UNITS)))
    expected = decoder(tf.constant(x), tf.constant(kernel)).numpy()
    assert value_of(lines, x, kernel) == expected
    always = [line.replace("tf.cond(", "tf.where(").replace("lambda: ", "") for line in lines]
    with pytest.raises(tf.errors.OpError, match="[Ii]ndex 5|size: 5"):
        value_of(always, x, kernel)


def test_the_number_of_examples_in_an_iteration_is_not_the_size_of_a_weight():
    """The weight comes before the state among the parameters, and its first size is that of the batch at hand."""

    def build(x, kernel):
        def body(turn, state):
            zeros = tf.zeros([tf.shape(state)[0], UNITS])
            return turn + 1, tf.concat([state, zeros], 1) @ kernel

        return tf.reduce_sum(v1.while_loop(lambda turn, _: turn < TIME, body, [0, x])[1])

    rows = 2 * UNITS
    assert rows == 6
    lines = written(build, {"x": [UNITS]}, {"kernel": [rows, UNITS]})
    assert "    batch_size = int(state.shape[0])" in lines
    rng = np.random.RandomState(0)
    x, kernel = rng.rand(5, UNITS).astype(np.float32), rng.rand(rows, UNITS).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        expected = session.run(build(tf.constant(x), tf.constant(kernel)))
    assert np.array_equal(value_of(lines, x, kernel), expected)


def of_words(x, kernel):
    """A loop over the letters of all words; each iteration adds numbers of as many rows as there are words."""

    def body(turn, state):
        rows = tf.stack([tf.shape(x)[0] * TIME, UNITS])
        return [turn + 1, tf.tanh(tf.matmul(state, kernel)) + tf.ones(rows)]

    words = tf.reshape(x, [-1, UNITS])
    return tf.reduce_sum(v1.while_loop(lambda turn, _: turn < 3, body, [0, words])[1])


def test_rows_of_the_words_of_examples_tell_their_number():
    lines = written(of_words, {"x": [TIME, UNITS]}, {"kernel": [UNITS, UNITS]})
    assert [line for line in lines if line.startswith("    batch_size =")][0].endswith(f".shape[0]) // {TIME}")
    rng = np.random.RandomState(0)
    x, kernel = (rng.randn(*shape).astype(np.float32) for shape in ((6, TIME, UNITS), (UNITS, UNITS)))
    assert value_of(lines, x, kernel) == of_words(tf.constant(x), tf.constant(kernel)).numpy()
