"""Terms that are alike are written once, with a table of what differs."""

import numpy as np
import pytest

from legacy.source.basics.expressions import Infix, Listing, Literal, Name, Value, call
from legacy.source.functions.function_lines import statement_lines
from legacy.source.lines.line_breaks import layout
from legacy.source.lines.statements import Statement

LAYERS = ["conv1/weights", "conv2/weights", "local3/weights", "local4/weights", "softmax_linear/weights"]


def penalty(name, factor):
    return Infix("*", call("tf.nn.l2_loss", call("scope.get", name)), Literal(np.float32(factor)))


def lines(*terms, function="sum", name="loss"):
    """The lines of an assignment to `name` of a sum of terms."""
    return statement_lines([Statement(("total:0",), call(function, Listing(terms)))], {"total:0": name, "x:0": "x"}, 0)


def run(text):
    """What the lines compute, where a penalty is a text."""

    class Scope:
        @staticmethod
        def get(name):
            return name

    class Nn:
        @staticmethod
        def l2_loss(name):
            return Weighted(name)

    class Weighted(str):
        def __mul__(self, factor):
            return f"{self}*{factor}"

    class Tf:
        nn = Nn
        add_n = list

    given = {"scope": Scope, "tf": Tf, "sum": list, "x": "x"}
    exec("\n".join(text), given)
    return given["loss"]


def test_penalties_of_one_factor_are_one_term_and_the_names():
    made = lines(Value("x:0"), *[penalty(name, 0.004) for name in LAYERS])
    assert len(made) < len(LAYERS)
    assert run(made) == ["x", *[f"{name}*0.004" for name in LAYERS]]
    assert made[-1] == "loss = sum([x, *(tf.nn.l2_loss(scope.get(name)) * 0.004 for name in decayed)])"


def test_names_that_make_lines_too_long_are_a_table_of_a_line_each():
    """No line can hold such a name, and one of all names would be as many times too long."""
    names = ["/".join(["inverted_residual_block"] * 6 + [f"conv_{number}"]) for number in range(12)]
    made = lines(*[penalty(name, 0.004) for name in names])
    assert made[-1] == "loss = sum([tf.nn.l2_loss(scope.get(name)) * 0.004 for name in decayed])"
    assert len(made) >= len(names) and max(map(len, made)) < 2 * len(names[0])
    assert run(made) == [f"{name}*0.004" for name in names]


def test_the_same_names_twice_are_one_table():
    penalties = [penalty(name, 0.004) for name in LAYERS]
    made = lines(*penalties, Value("x:0"), *penalties)
    assert sum("decayed = [" in line for line in made) == 1
    assert run(made) == [*(f"{name}*0.004" for name in LAYERS), "x", *(f"{name}*0.004" for name in LAYERS)]
    others = lines(*penalties, Value("x:0"), *penalties[1:])
    assert sum("decayed" in line and "= [" in line for line in others) == 2
    assert run(others) == [*(f"{name}*0.004" for name in LAYERS), "x", *(f"{name}*0.004" for name in LAYERS[1:])]


@pytest.mark.parametrize("function", ["sum", "tf.add_n"])
def test_penalties_of_several_factors_have_a_table_of_them(function):
    factors = [0.0, 0.0, 0.004, 0.004, 0.0]
    made = lines(*map(penalty, LAYERS, factors), Value("x:0"), function=function)
    assert made[0].startswith("weight_decay = {") and len(made) == 5
    assert run(made) == [*[f"{name}*{factor}" for name, factor in zip(LAYERS, factors)], "x"]


def test_nothing_but_penalties_is_one_list():
    made = lines(*[penalty(name, 0.004) for name in LAYERS])
    assert made[-1] == "loss = sum([tf.nn.l2_loss(scope.get(name)) * 0.004 for name in decayed])"
    assert run(made) == [f"{name}*0.004" for name in LAYERS]


def test_one_name_twice_has_a_list_of_pairs():
    names = [*LAYERS, LAYERS[0]]
    made = lines(*[penalty(name, number) for number, name in enumerate(names)])
    assert run(made) == [f"{name}*{float(number)}" for number, name in enumerate(names)]


def test_a_table_has_a_name_of_its_own():
    made = lines(*[penalty(name, 0.004) for name in LAYERS], name="decayed")
    assert made[0].startswith("decayed_2 = ")


@pytest.mark.parametrize(
    "terms",
    [
        [call("tf.abs", name) for name in "abc"],  # which fit into one line
        [call("tf.reduce_sum", Name("a" * 40 + str(n))) for n in range(4)],
        [penalty(LAYERS[0], 0.1), *[call("tf.reduce_sum", call("scope.get", "long/" * 9 + str(n))) for n in "ab"]],
        [call("f" * 30 + str(n), call("scope.get", name)) for n, name in enumerate(LAYERS)],
    ],
)
def test_other_terms_are_written_out(terms):
    expression = call("sum", Listing(tuple(terms)))
    assert lines(*terms) == layout("loss = ", expression)


def test_terms_alike_that_are_not_side_by_side_stay_in_their_order():
    terms = [penalty(LAYERS[0], 0.1), Value("x:0"), *[penalty(name, 0.1) for name in LAYERS[1:]]]
    assert run(lines(*terms))[:3] == [f"{LAYERS[0]}*0.1", "x", f"{LAYERS[1]}*0.1"]
