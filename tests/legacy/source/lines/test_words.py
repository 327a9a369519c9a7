"""Names and words of a program's functions: after what they compute."""

import pytest

from legacy.source.basics.expressions import Call, Value, call
from legacy.source.lines.statements import Statement
from legacy.source.lines.words import function_name, words_of


def statements(*functions):
    """A line for each function, which takes what the one before gives."""
    return [Statement((f"{i + 1}:0",), call(name, Value(f"{i}:0"))) for i, name in enumerate(functions)]


ATTENTION = ("tf.matmul", "tf.matmul", "tf.nn.softmax", "tf.matmul")


@pytest.mark.parametrize(
    "functions, name, word",
    [
        (("tf.matmul", "tf.nn.relu"), "dense", "a dense layer"),
        (("tf.nn.conv2d", "tf.nn.relu", "tf.nn.max_pool2d"), "conv_pool", "a convolution"),
        (("tf.matmul", "tf.nn.softmax"), "dense", "a dense layer"),  # a classifier
        (ATTENTION, "attention", "attention"),
        ((*ATTENTION, "tf.matmul", "tf.tanh", "tf.matmul"), "transformer_block", "attention"),
        (("attention", "tf.matmul", "tf.nn.relu"), "transformer_block", "attention"),
        (("attention", "dense"), "attention2", "attention"),
        (("dense", "tf.nn.relu"), "block", "a rectifier"),
        (("tf.exp",), "step", "what several places compute alike"),
    ],
)
def test_a_function_is_named_after_what_it_computes(functions, name, word):
    body = statements(*functions)
    assert function_name(body, {"attention"} if "attention" in functions else set()) == name
    assert words_of(body)[0] == word


def test_the_order_in_a_line_does_not_matter():
    weights = call("tf.nn.softmax", call("tf.matmul", Value("q:0"), Value("k:0")))
    product = call("tf.matmul", weights, Value("v:0"))
    assert isinstance(product, Call)
    assert function_name([Statement(("out:0",), product)], set()) == "attention"


def test_a_second_function_of_the_same_kind_has_a_number():
    assert function_name(statements("tf.matmul"), {"dense"}) == "dense2"
