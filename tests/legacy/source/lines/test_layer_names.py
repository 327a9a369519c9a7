"""Names of layers, read from the variables of an expression."""

import pytest

from legacy.source.basics.expressions import Infix, Literal, Variable, call
from legacy.source.lines.layer_names import layer_name, layers_of


def weights(name):
    return Variable(name, (8, 8), "", True)


@pytest.mark.parametrize(
    "names, layer",
    [
        (["m/query/kernel"], "query"),
        (["m/query/kernel", "m/query/bias"], "query"),
        (["m/query/kernel", "m/key/kernel"], ""),
        (["m/dense/kernel"], ""),
        (["m/fc1/kernel"], ""),
        (["kernel"], ""),
    ],
)
def test_a_value_has_the_name_of_its_only_layer_unless_that_is_a_kind(names, layer):
    assert layer_name(call("tf.add_n", *map(weights, names))) == layer


def test_scopes_are_also_read_from_calls_of_functions_that_build_layers():
    assert layers_of(call("attend", Literal("m/value/head"))) == [["m", "value", "head"]]
    assert layers_of(call("tf.reshape", Literal("m/value/head"))) == []
    assert layers_of(Infix("+", weights("a/w"), weights("b/w"))) == [["a"], ["b"]]
