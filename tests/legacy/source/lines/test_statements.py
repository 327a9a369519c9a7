"""Statements and names: what is put into the expression that uses it, and what a value is called."""

from legacy.source.basics.expressions import Definition, Infix, Item, Name, Value, Variable, call, values_used
from legacy.source.definitions.alignment import by_replica
from legacy.source.lines.identifiers import identifier
from legacy.source.lines.naming import name_values
from legacy.source.lines.statements import Statement, build_statements, shared_data_first

X = Definition(("x:0",), Item(Name("batch"), '"x"'))


def test_what_is_used_once_stands_where_it_is_used():
    square = Definition(("s:0",), call("tf.square", Value("x:0")))
    (statement,) = build_statements([X, square, Definition((), call("tf.reduce_mean", Value("s:0")))])
    assert statement == Statement((), call("tf.reduce_mean", call("tf.square", X.expression)))


def test_what_is_used_twice_has_a_line_of_its_own():
    first, last = build_statements([X, Definition((), Infix("+", Value("x:0"), Value("x:0")))])
    assert first == Statement(("x:0",), X.expression) and last.targets == ()


def test_a_variable_is_asked_for_just_before_its_first_use():
    reads = [Definition((f"{n}:0",), Variable(n, (2, 2))) for n in ("last", "first")]
    layers = [
        Definition(("m:0",), call("tf.matmul", Value("first:0"), Value("first:0"))),
        Definition(("n:0",), call("tf.matmul", Value("m:0"), Value("last:0"))),
    ]
    end = Definition((), Infix("+", call("tf.nn.l2_loss", Value("last:0")), Value("n:0")))
    statements = build_statements([*reads, *layers, end])
    assert [statement.targets for statement in statements] == [("first:0",), ("m:0",), ("last:0",), ()]


def test_the_lines_of_layers_end_at_the_same_places_whatever_their_names_and_sizes():
    def lines(layer, units):
        moving = Definition(("v:0",), Variable(f"{layer}/BatchNorm/moving_variance", (units,), initializer="ONES"))
        gap = Definition(("g:0",), Infix("-", Value("v:0"), Value("x:0")))
        step = Definition(("s:0",), Infix("*", Value("g:0"), Name("UPDATE_RATE")))
        norm = call("tf.nn.batch_normalization", Value("x:0"), Value("v:0"), Value("s:0"), 0.001)
        return [statement.targets for statement in build_statements([X, moving, gap, step, Definition((), norm)])]

    assert len({tuple(lines(layer, units)) for layer in ("a", "group" * 10 + "/block") for units in (8, 1024)}) == 1


def test_each_layer_has_a_line_of_its_own():
    one = Definition(("m:0",), call("tf.nn.relu", call("tf.matmul", Value("x:0"), Name("w"))))
    statements = build_statements([X, one, Definition((), call("tf.matmul", Value("m:0"), Name("v")))])
    assert [statement.targets for statement in statements] == [("m:0",), ()]


def test_a_tensor_that_goes_from_layer_to_layer_keeps_one_name_as_long_as_it_can():
    layers = [Statement((f"{n}:0",), call("tf.nn.relu", Value(f"{n - 1}:0"))) for n in (1, 2)]
    end = Statement((), Infix("+", Value("1:0"), Value("2:0")))
    names = name_values([*layers, end], [], {"0:0": "x"}, lambda tensor: [2, 2])
    assert names == {"0:0": "x", "1:0": "x", "2:0": "y"}


def test_values_are_named_after_their_use_and_their_variables():
    logits = Statement(("l:0",), call("tf.matmul", Name("x"), Value("w:0")))
    weights = Statement(("w:0",), Variable("net/kernel", (2, 2)))
    end = Statement((), call("f", logits=Value("l:0"), labels=Value("w:0")))
    names = name_values([weights, logits, end], [], {}, lambda tensor: [2, 2])
    assert names["l:0"] == "logits"


def test_a_state_that_each_tower_has_of_its_own_is_named_after_the_first_towers():
    state = Statement(("s:0",), Variable(by_replica(["tower_0/memory_0", "tower_1/memory_1"]), (2,)))
    names = name_values([state, Statement((), call("tf.square", Value("s:0")))], [], {}, lambda tensor: [2])
    assert names == {"s:0": "memory"}


def test_a_name_in_the_graph_becomes_a_python_name():
    assert [identifier(name) for name in ("a/Conv2D_3", "a/lambda", "a/3")] == ["conv2d", "lambda_", "value"]


def test_what_is_made_of_data_and_used_twice_comes_first():
    mask = Statement(("mask:0",), call("tf.cast", Item(Name("batch"), '"mask"')))
    weight = Statement(("w:0",), Variable("w", (3, 3)))
    first = Statement(("a:0",), call("tf.matmul", Value("w:0"), Value("mask:0")))
    label = Statement(("label:0",), call("tf.one_hot", Item(Name("batch"), '"y"')))
    noise = Statement(("noise:0",), call("scope.uniform", Name('"drop"')))
    last = Statement((), call("f", *map(Value, ["a:0", "mask:0", "label:0", "noise:0", "noise:0", "w:0"])))
    lines = [weight, mask, first, label, noise, last]
    assert shared_data_first(lines) == [mask, weight, first, label, noise, last]


def test_weights_of_one_call_are_asked_for_in_the_order_of_its_arguments():
    """Otherwise a long name would bring a second weight before the first, which changes the sum of a global norm."""

    gamma, beta = Variable("norm/gamma", (8,)), Variable("norm/beta", (8,), "initializers.Constant(0.0)", True)

    def lines(function):
        reads = [Definition(("gamma:0",), gamma), Definition(("beta:0",), beta)]
        layer = call(function, Name("x"), Value("gamma:0"), Value("beta:0"), epsilon=0.001)
        return build_statements([*reads, Definition(("y:0", "mean:0"), layer)], ["y:0", "mean:0"])

    *asked, layer = lines("tf.compat.v1.nn.fused_batch_norm")
    assert asked == [Statement(("gamma:0",), gamma), Statement(("beta:0",), beta)]
    assert values_used(layer.expression) == ["gamma:0", "beta:0"]
    assert len(lines("f")) == 1  # short enough for one line
