"""Names of the values of attention in a source: its mask, scores, probabilities and context, and the root of a size."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Infix, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.attention_names import is_additive_mask
from legacy.source.lines.naming import name_values
from legacy.source.lines.statements import Statement
from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
STEPS, SIZE = 3, 8


def attention(x, mask, layer):
    """Attention of one head, of which a mask forbids the padding."""
    with v1.variable_scope(f"layer_{layer}", reuse=v1.AUTO_REUSE):
        weights = [
            v1.get_variable(name, [SIZE, SIZE], initializer=v1.glorot_uniform_initializer(), use_resource=False)
            for name in ("query", "key", "value", "output")
        ]
    query, key, value = (tf.reshape(tf.matmul(x, one), [BATCH, STEPS, SIZE]) for one in weights[:3])
    scores = tf.matmul(query, key, transpose_b=True) * np.float32(SIZE**-0.5) + mask
    context = tf.matmul(tf.nn.softmax(scores), value)
    return x + tf.tanh(tf.matmul(tf.reshape(context, [-1, SIZE]), weights[3]))


def transformer(layers):
    def program():
        parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, STEPS, SIZE], "x"), TOWERS)
        padding = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, STEPS], "padding"), TOWERS)

        def loss(tower):
            mask = tf.reshape((1.0 - padding[tower]) * -10000.0, [BATCH, 1, STEPS])
            x = tf.reshape(parts[tower], [-1, SIZE])
            for layer in range(layers):
                x = attention(x, mask, layer)
            return tf.reduce_sum(x**2)

        optimizer = v1.train.GradientDescentOptimizer(0.01)
        found = towers(lambda tower: [gradient for gradient, _ in optimizer.compute_gradients(loss(tower))])
        means = [tf.add_n(pair) / TOWERS for pair in zip(*found)]
        return optimizer.apply_gradients(zip(means, v1.trainable_variables()))

    return program


def test_a_block_of_attention_has_the_names_of_its_values(tmp_path):
    setup = lifted(transformer(4), tmp_path)
    source = source_of(setup, "workload")
    assert "(scope, x, mask, name)" in source.text and "mask = tf.reshape(" in source.text
    assert "probabilities = tf.nn.softmax(" in source.text and "context = " in source.text
    assert "* 8**-0.5 + mask" in source.text
    assert_workload_verified(setup, tmp_path, source, steps=20)


def names_of(statements, rank):
    return name_values(statements, (), {}, lambda tensor: [2] * rank)


@pytest.mark.parametrize("rank, expected", [(3, "scores"), (2, "logits")])
def test_what_a_softmax_is_of(rank, expected):
    made = [
        Statement(("s:0",), call("tf.matmul", Name("a"), Name("b"))),
        Statement(("p:0",), call("tf.nn.softmax", Value("s:0"))),
        Statement(("c:0",), call("tf.matmul", Value("p:0"), Name("v"))),
        Statement((), call("f", Value("s:0"), Value("p:0"), Value("c:0"))),
    ]
    assert names_of(made, rank) == {"s:0": expected, "p:0": "probabilities", "c:0": "context"}


def test_a_product_of_other_values_is_no_context():
    made = [
        Statement(("p:0",), call("tf.nn.softmax", Name("s"))),
        Statement(("c:0",), call("tf.matmul", Name("v"), Value("p:0"))),
        Statement((), call("f", Value("p:0"), Value("c:0"))),
    ]
    assert names_of(made, 3)["c:0"] == "x"


@pytest.mark.parametrize(
    "number, text",
    [(np.float32(64**-0.5), "x * 0.125"), (np.float32(48**-0.5), "x * 48**-0.5"), (np.float32(0.1443376), None)],
)
def test_a_root_is_written_as_one_only_if_it_has_its_bits(number, text):
    shown = expression_text(Infix("*", Name("x"), Literal(number)))
    assert np.float32(eval(shown.replace("x * ", ""))) == number
    assert shown == (text or "x * 0.1443376")


@pytest.mark.parametrize("factor, expected", [(-1e9, True), (-1e4, True), (-1.0, False), (1e9, False)])
def test_only_a_large_negative_factor_makes_an_additive_mask(factor, expected):
    assert is_additive_mask(call("tf.expand_dims", Infix("*", Name("padding"), Literal(factor)), 1)) == expected
