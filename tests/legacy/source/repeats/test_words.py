"""Names and words of a program's functions: after what they compute."""

import pytest

from legacy.source.basics.expressions import Call, Infix, Literal, Name, Scoped, Value, Variable, call
from legacy.source.lines.statements import Statement
from legacy.source.repeats.words import LONG, function_name, telling_scope, words_of


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
        ((*ATTENTION, "tf.matmul", "lstm_state", "tf.tanh"), "attention_lstm", "attention"),
        ((*ATTENTION, "old_gru_cell", "tf.nn.relu"), "attention_gru", "attention"),
        (("dense", "tf.nn.relu"), "block", "a dense layer"),
        (("tf.nn.bias_add", "norm2"), "bias_norm", "a normalization"),
        (("conv", "norm", "tf.nn.relu"), "conv_norm", "a convolution"),
        (("conv", "norm", "conv", "norm"), "block", "convolutions"),
        (("warp", "tf.matmul"), "block", "`warp`"),
        (("conv_norm", "conv_norm"), "block", "the result of `conv_norm`"),
        (("dense", "tf.matmul", "tf.nn.bias_add"), "block", "dense layers"),
        (("tf.exp",), "transform", "what several places compute alike"),
    ],
)
def test_a_function_is_named_after_what_it_computes(functions, name, word):
    body = statements(*functions)
    assert function_name(body, "", {"attention"} if "attention" in functions else set()) == name
    assert words_of(body)[0] == word


def test_a_function_of_a_scope_says_what_it_calls_too():
    of_scope = "what name scope `unit` of the old graph computes"
    assert words_of(statements("conv", "norm", "conv", "tf.nn.relu"), "unit") == [
        f"{of_scope}: convolutions, a normalization, a rectifier"
    ]
    assert words_of(statements("tf.exp"), "unit") == [of_scope]
    assert words_of(statements(*LONG), "unit") == [of_scope]  # too much for a line


def test_the_order_in_a_line_does_not_matter():
    weights = call("tf.nn.softmax", call("tf.matmul", Value("q:0"), Value("k:0")))
    product = call("tf.matmul", weights, Value("v:0"))
    assert isinstance(product, Call)
    assert function_name([Statement(("out:0",), product)], "", set()) == "attention"


@pytest.mark.parametrize("axes, word", [([0, 1, 2], "batch norm with its statistics"), ([2], "layer norm")])
def test_a_normalization_of_each_example_is_no_batch_norm(axes, word):
    moments = Statement(("mean:0", "variance:0"), call("tf.nn.moments", Value("x:0"), axes))
    given = [Value("x:0"), Value("mean:0"), Value("variance:0"), None, None, 1e-12]
    body = [moments, Statement(("out:0",), call("tf.nn.batch_normalization", *given))]
    assert words_of(body) == [word] and function_name(body, "", set()) == "norm"


def test_a_second_function_of_the_same_kind_has_a_number():
    assert function_name(statements("tf.matmul"), "", {"dense"}) == "dense2"


def in_folders(*targets):
    """A line for each target, which says nothing about a name."""
    return [Statement((target,), call("tf.exp", Value("x:0"))) for target in targets]


@pytest.mark.parametrize(
    "blocks, scope",
    [
        (
            [("net/left/warp/Exp:0", "net/left/warp/a/Exp:0"), ("net/right/warp_1/Exp:0", "net/right/warp_1/a/Exp:0")],
            "warp",
        ),
        ([("net/left/Exp:0",), ("net/right/Exp:0",)], ""),  # scopes of different names
        ([("net/Exp:0",), ("net/Exp_1:0",)], ""),  # the scope of everything
        ([("net/a/train_step/Exp:0",), ("net/b/train_step/Exp:0",)], ""),  # a name that the program has
    ],
)
def test_a_function_whose_calls_give_no_name_has_that_of_its_scope(blocks, scope):
    assert telling_scope([in_folders(*block) for block in blocks], "net") == scope
    assert function_name(in_folders(*blocks[0]), scope, {"warp"}) == ("warp2" if scope else "transform")
    assert ("`warp`" in words_of(in_folders(*blocks[0]), scope)[0]) == bool(scope)


def test_a_convolution_is_not_named_after_its_scope():
    body = [Statement(("net/warp/Conv2D:0",), call("tf.nn.conv2d", Value("x:0")))]
    assert telling_scope([body, body], "net") == ""


@pytest.mark.parametrize(
    "names, function, name, word",
    [
        (("gamma", "beta"), "tf.sqrt", "normalize", "a normalization with scale and offset"),
        (("alpha",), "tf.nn.relu", "prelu", "a parametric rectifier"),
        (("alpha",), "tf.sqrt", "layer", "what several places compute alike"),
    ],
)
def test_a_function_of_usual_variables_is_named_after_these(names, function, name, word):
    asked = [Statement((f"{n}:0",), Variable(Scoped(Name("name"), "/" + n), (3,))) for n in names]
    body = [*asked, Statement(("y:0",), call(function, Value("x:0")))]
    assert function_name(body, "", set()) == name and words_of(body)[0] == word


def test_functions_of_one_name_are_told_apart_by_their_activations():
    assert function_name(statements("tf.nn.conv2d", "tf.nn.relu"), "", {"conv"}) == "conv_relu"
    assert function_name(statements("tf.tanh", "tf.nn.conv2d"), "", {"conv"}) == "tanh_conv"
    assert function_name(statements("tf.nn.conv2d"), "", {"conv"}) == "conv2"


@pytest.mark.parametrize("trainable, name", [(False, "moving_average"), (True, "layer")])
def test_a_share_of_a_statistic_and_of_a_value_is_a_moving_average(trainable, name):
    kept = Infix("*", Variable(Name("name"), (6,), "", trainable), Literal(0.75))
    body = [Statement((), Infix("+", kept, Infix("*", Value("x:0"), Literal(0.25))))]
    assert function_name(body, "", set()) == name
    assert ("the next value of a moving average" in words_of(body)) == (not trainable)
