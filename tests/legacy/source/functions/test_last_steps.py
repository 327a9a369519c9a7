"""A last step that lacks what nobody takes, as a decoder's state after its last word, belongs to the loop."""

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Listing, Name, Value, call
from legacy.source.functions.function_lines import function_lines
from legacy.source.lines.statements import Statement
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
SIZE, WORDS = 3, 5


def decoder(draws=False, keeps=False):
    """A decoder whose next input is what it said before; the state after its last word is used where it `keeps` it.

    Each state has noise where it `draws`, which a state that the old graph does not have would lack.
    """

    def program():
        parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, SIZE], "x"), TOWERS)
        labels = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, WORDS], "y"), TOWERS)
        with v1.variable_scope("net"):
            made = [
                v1.get_variable(name, [SIZE, SIZE], initializer=v1.glorot_uniform_initializer(), use_resource=False)
                for name in "wvk"
            ]

        def loss(tower):
            w, v, kernel = made
            state, word, losses = tf.tanh(parts[tower]), parts[tower], []
            for step in range(WORDS):
                logits = tf.matmul(state, kernel)
                entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[tower][:, step], logits=logits)
                losses.append(tf.reduce_mean(entropy))
                word = tf.sin(tf.matmul(word, v) + state)
                state = tf.tanh(tf.matmul(word, w) + state * 0.5)
                state += v1.random_uniform([BATCH, SIZE]) if draws else 0.0
            return tf.add_n(losses) / WORDS + (tf.reduce_sum(state**2) if keeps else 0.0)

        means = [tf.add_n(one) / TOWERS for one in zip(*towers(lambda tower: tf.gradients(loss(tower), made)))]
        return v1.train.GradientDescentOptimizer(0.25).apply_gradients(zip(means, made))

    return program


@pytest.mark.slow
@pytest.mark.parametrize("draws, keeps", [(False, False), (True, False), (False, True)])
def test_a_decoder_is_one_loop_with_all_of_its_words(draws, keeps, tmp_path):
    setup = lifted(decoder(draws, keeps), tmp_path)
    source = source_of(setup, "workload")
    assert draws or keeps or f"for _ in range({WORDS}):" in source.text and source.text.count("tf.tanh(") == 2
    assert_workload_verified(setup, tmp_path, source, steps=20)
    if not draws:
        assert_trains_alike(setup, tmp_path)


def words(turns, drawn=False, kept=False):
    """The statements of a decoder's steps, the last of which says its word and has no next state."""
    made = [Statement(("h0:0",), Name("start"))]
    for n in range(turns):
        made.append(Statement((f"l{n}:0",), call("say", Value(f"h{n}:0"))))
        if n < turns - 1:
            more = [call("scope.uniform", Name("noise"))] if drawn else []
            made.append(Statement((f"h{n + 1}:0",), call("cell", Value(f"h{n}:0"), *more)))
    said = Listing(tuple(Value(f"l{n}:0") for n in range(turns)))
    return [*made, Statement((), call("join", said, *([Value(f"h{turns - 1}:0")] if kept else [])))]


def lines_of(statements):
    return [line.strip() for line in function_lines("f(scope, batch)", "", statements, lambda tensor: [2], {})[2:]]


def test_a_last_step_without_a_next_state_is_one_of_the_loop():
    assert lines_of(words(5)) == [
        "h = start",
        "outputs = []",
        "for _ in range(5):",
        "outputs.append(say(h))",
        "h = cell(h)",
        "return join(outputs)",
    ]


@pytest.mark.parametrize("drawn, kept", [(True, False), (False, True)])
def test_what_draws_or_is_taken_afterwards_is_not_computed_once_more(drawn, kept):
    """The negative controls: noise that the old graph does not draw, and a state that is that of the step before."""
    lines = lines_of(words(5, drawn, kept))
    assert "for _ in range(4):" in lines and "l = say(h)" in lines  # the first word stands before the loop
