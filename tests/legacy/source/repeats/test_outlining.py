"""Outlining: repeated layers become one function with parameters for what differs; other layers do not."""

import dataclasses
import string

import tensorflow as tf

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    Definition,
    Infix,
    Listing,
    Literal,
    Name,
    Scoped,
    Value,
    Variable,
    call,
    calls,
    values_used,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.holes import skeleton, with_holes
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.repeats import abstraction, outlining
from legacy.source.repeats.abstraction import make_function
from legacy.source.repeats.outlining import outline, outline_parts
from legacy.source.repeats.words import words_of
from tests.legacy.source.tiny import recovered

v1 = tf.compat.v1


def layers(count, last=tf.nn.relu):
    """The statements and shapes of `count` layers of three ops, the last of them with another activation."""
    variables = {}
    for number in range(count):
        variables[f"layer{number}/kernel"] = [3, 3]
        variables[f"layer{number}/bias"] = [3]

    def build(x, **given):
        for number in range(count):
            act = last if number == count - 1 else tf.nn.relu
            x = tf.matmul(x, given[f"layer{number}/kernel"])
            x = act(tf.tanh(tf.nn.bias_add(x, given[f"layer{number}/bias"]) * 0.5) + tf.sqrt(tf.abs(x) + 0.25))
            x = tf.exp(-x) + tf.sigmoid(x)
        return tf.reduce_mean(x)

    recovery, (end,) = recovered(build, {"x": [3]}, variables)
    return build_statements([*recovery.ordered([end]), Definition((), end)]), recovery.shape


def test_repeated_layers_become_a_function_that_is_called_for_each():
    statements, shape = layers(4)
    outlined = outline(statements, shape, 14)
    (function,) = outlined.functions
    assert function.name == "dense" and function.parameters == ["scope", "x", "name"] and len(function.results) == 1
    calls = [expression_text(s.expression) for s in outlined.statements[:-1]]
    assert len(calls) < len(statements) / 2 and sum("dense(scope" in text for text in calls) >= 4
    assert any('"layer1"' in text for text in calls)
    assert words_of(function.statements)[0] == "a dense layer"


def outlined_of(make):
    """The functions that are made of 26 statements of the same form, on tensors with long names."""
    long = [f"{letter * 60}:0" for letter in string.ascii_letters]
    ends = list(zip(long[::2], long[1::2]))
    statements = [Statement((f"x{n}:0",), make(Value(a), Value(b))) for n, (a, b) in enumerate(ends)]
    return outline([*statements, Statement((), Value("x0:0"))], lambda tensor: None).functions


def test_a_call_of_tensorflow_on_what_is_given_is_no_function():
    assert not outlined_of(lambda a, b: call("tf.nn.softmax_cross_entropy_with_logits", labels=a, logits=b))
    assert not outlined_of(lambda a, b: call("tf.concat", Listing((a, b)), axis=1))
    assert outlined_of(lambda a, b: call("tf.concat", Listing((call("tf.nn.relu", a), call("tf.tanh", b))), axis=1))


def test_a_call_of_a_function_is_not_outlined_again():
    """Its text is long where the names of tensors are, which no line has."""
    long = [f"{letter * 60}:0" for letter in string.ascii_letters]
    pairs = list(zip(long[::2], long[1::2]))
    statements = [Statement((f"x{n}:0", f"y{n}:0"), call("pair", Value(a), Value(b))) for n, (a, b) in enumerate(pairs)]
    made = outline([*statements, Statement((), Value("x0:0"))], lambda tensor: None)
    names = {function.name for function in made.functions}
    alone = [function.statements[0].expression for function in made.functions if len(function.statements) == 1]
    assert names and not any(expression.function in names for expression in alone)


def test_variables_alone_are_no_function():
    """The request of a variable takes two lines where its name is long, and a function of it says nothing."""
    names = [f"net/{letter * 70}/moving_mean" for letter in string.ascii_letters[:12]]
    asked = [Statement((f"v{n}:0",), Variable(name, (3,), "ZEROS", False)) for n, name in enumerate(names)]
    last = Statement((), Listing(tuple(Value(f"v{n}:0") for n in range(len(names)))))
    assert outline([*asked, last], lambda tensor: [3]).functions == []


def test_short_blocks_are_found_beside_many_long_ones_that_are_no_functions():
    """A long block of this program has more results than a function may have, wherever it begins."""

    def build(x):
        for _ in range(3):
            parts = []
            for number in range(20):
                y = tf.tanh(x * (number + 0.5))
                z = tf.exp(-y) + tf.sqrt(tf.abs(y) + 0.25)
                parts.append(tf.sigmoid(z) * z + y)
            x = tf.concat(parts, 1)[:, :3]
        return tf.reduce_mean(x)

    recovery, (end,) = recovered(build, {"x": [3]})
    statements = build_statements([*recovery.ordered([end]), Definition((), end)])
    outlined = outline(statements, recovery.shape, 14)
    assert outlined.functions and len(outlined.statements) < len(statements) / 2


def test_no_function_has_more_parameters_than_one_can_read(monkeypatch):
    statements, shape = layers(4)
    monkeypatch.setattr(outlining, "MOST_PARAMETERS", 2)
    assert outline(statements, shape, 14).functions == []


def test_two_short_blocks_are_not_worth_a_function():
    statements, shape = layers(1)
    assert outline(statements, shape, 14).functions == []


def test_a_block_that_computes_otherwise_is_not_called():
    statements, shape = layers(4, last=tf.nn.elu)
    outlined = outline(statements, shape, 14)
    text = " ".join(expression_text(s.expression) for s in outlined.statements)
    assert "tf.nn.elu" in text and "tf.nn.relu" not in text


def test_holes_are_what_may_differ_and_may_be_filled_otherwise():
    one = call("tf.matmul", Value("x:0"), Variable("a/w", (2, 3), "ZEROS"))
    key, holes = skeleton(one)
    assert [(hole.kind, hole.label) for hole in holes] == [
        ("value", ""),
        ("name", ""),
        ("size", "units"),
        ("size", "units"),
        ("initializer", ""),
    ]
    assert skeleton(call("tf.matmul", Value("y:0"), Variable("b/w", (4, 5), "ONES")))[0] == key
    assert skeleton(call("tf.matmul", Value("y:0"), Variable("b/w", (4, 5, 6), "ONES")))[0] != key
    assert skeleton(Infix("+", Value("x:0"), Literal(1.0)))[0] != skeleton(Infix("-", Value("x:0"), Literal(1.0)))[0]
    filled = with_holes(one, [Value("z:0"), Scoped(Value("n:0"), "/w"), 7, 8, "ONES"])
    assert filled.arguments[1].value == Variable(Scoped(Value("n:0"), "/w"), (7, 8), "ONES")


def test_what_differs_is_called_after_the_argument_that_it_is_and_comes_after_the_tensors():
    lines = []
    for n, (kernel, width) in enumerate([("a/w", 1), ("b/v", 2), ("c/u", 3)]):
        lines.append(Statement((f"p{n}:0",), call("tf.pad", Value(f"in{n}:0"), [[0, 0], [width, width]])))
        lines.append(Statement((f"k{n}:0",), Variable(kernel, (3, 3), "", True)))
        lines.append(Statement((f"y{n}:0",), call("tf.matmul", Value(f"p{n}:0"), Value(f"k{n}:0"))))
        lines += [Statement((f"z{n}{m}:0",), call("tf.exp", Value(f"y{n}:0"), Literal("q" * 80))) for m in range(6)]
    made, calls = make_function(lines, [0, 9, 18], 3, lambda tensor: [14, 3], set())
    assert made.parameters == ["scope", "x", "name", "paddings"]
    assert expression_text(calls[9].expression) == 'dense(scope, <in1:0>, "b/v", paddings=[[0, 0], [2, 2]])'


def test_a_function_without_variables_has_no_scope():
    lines = [Statement((f"y{n}:0",), call("tf.exp", Value(f"x{n}:0"))) for n in range(3)]
    made, calls = make_function(
        [*lines, Statement((), call("f", *(Value(f"y{n}:0") for n in range(3))))],
        [0, 1, 2],
        1,
        lambda tensor: [3, 3],
        set(),
    )
    assert made.parameters == ["x"] and expression_text(calls[1].expression) == "transform(<x1:0>)"


def test_what_blocks_hand_on_is_found_in_one_pass_over_all_lines(monkeypatch):
    """Not in one pass for each block: a graph of some thousands of lines has hundreds of blocks."""
    read = []
    monkeypatch.setattr(abstraction, "values_used", lambda node: read.append(node) or values_used(node))
    lines = [Statement((f"y{n}:0", f"z{n}:0"), call("tf.nn.moments", Value(f"x{n}:0"))) for n in range(8)]
    lines += [Statement((f"u{n}:0",), call("tf.exp", Value(f"z{n}:0"))) for n in range(8)]
    made, _ = make_function(lines, range(8), 1, lambda tensor: [3], set())
    assert made.results == ["z0:0"]
    assert len(read) <= 2 * len(lines)


def test_what_is_repeated_inside_of_a_repeated_block_is_a_function_that_this_one_calls():
    def build(x, **given):
        for number in range(2):
            for part in "abc":
                x = tf.nn.bias_add(
                    tf.matmul(x, given[f"block{number}/{part}/kernel"]), given[f"block{number}/{part}/bias"]
                )
                x = tf.exp(-tf.tanh(x) * tf.sigmoid(x))
            x = tf.sqrt(tf.abs(x) + 0.25) * tf.sin(x) + tf.cos(x)
        return tf.reduce_mean(x)

    names = [f"block{number}/{part}" for number in range(2) for part in "abc"]
    variables = {f"{name}/{kind}": [3, 3][: 1 + (kind == "kernel")] for name in names for kind in ("kernel", "bias")}
    recovery, (end,) = recovered(build, {"x": [3]}, variables)
    statements = build_statements([*recovery.ordered([end]), Definition((), end)])
    inner, *others = outline(statements, recovery.shape, 14).functions
    assert inner.name == "dense" and len(inner.statements) < 6
    used = [part.function for function in others for s in function.statements for part in calls(s.expression)]
    assert not others or "dense" in used and "tf.matmul" not in used


def test_a_function_without_a_batch_among_its_tensors_is_given_the_batch_size():
    noise = [call("scope.uniform", Literal(f"drop{n}"), Listing((BATCH_SIZE, Literal(4)))) for n in range(3)]
    lines = [Statement((f"y{n}:0",), call("tf.add", Value(f"x{n}:0"), noise[n])) for n in range(3)]
    lines.append(Statement((), call("f", *(Value(f"y{n}:0") for n in range(3)))))
    flat = make_function(lines, [0, 1, 2], 1, lambda tensor: [42, 3], set(), 14)
    rows = make_function(lines, [0, 1, 2], 1, lambda tensor: [14, 3], set(), 14)
    assert flat[0].parameters == ["scope", "batch_size", "x", "index"] and not flat[0].batch_of
    assert expression_text(flat[1][1].expression) == "transform(scope, batch_size, <x1:0>, index=1)"
    assert rows[0].parameters == ["scope", "x", "index"] and rows[0].batch_of == "x"


def batch_norms(count):
    """Statements of layers with averages of their means, as the updates of batch norm: the decay is computed anew."""
    statements = [Statement(("decay:0",), call("tf.abs", Value("in:0")))]
    for n in range(count):
        keep, name = f"gpu_0/keep_{n}:0", f"bn{n}/mean"
        statements += [
            Statement((f"gpu_0/bn{n}/exp:0",), call("tf.exp", Value(f"gpu_0/x{n}:0"))),
            Statement((f"gpu_0/{name}:0",), Variable(name, (3,), "ZEROS", False)),
            Statement((keep,), call("tf.negative", Value("decay:0"))),
            Statement((), call("scope.update", name, call("tf.multiply", Value(keep), Value(f"gpu_0/bn{n}/exp:0")))),
            Statement((f"gpu_0/x{n + 1}:0",), call("tf.tanh", Value(f"gpu_0/bn{n}/exp:0"))),
        ]
    return [*statements, Statement((), Value(f"gpu_0/x{count}:0"))]


def test_a_variable_is_asked_for_in_the_function_that_updates_it():
    """Not in one that returns 1 - decay, beside the variable whose update other lines make."""
    statements = batch_norms(9)
    assert make_function(statements, [2 + 5 * n for n in range(9)], 2, lambda tensor: None, set(), 4) is None
    made = make_function(statements, [1 + 5 * n for n in range(9)], 5, lambda tensor: None, set(), 4)
    assert made and sum("scope.get" in expression_text(s.expression) for s in made[0].statements) == 1


def test_no_function_has_the_name_of_the_scope_that_the_tower_is_in():
    statements = batch_norms(9)
    made = make_function(statements, [3 + 5 * n for n in range(9)], 1, lambda tensor: None, set(), 4)
    assert made and not made[0].scope


def unit(number, folder, units):
    """Statements of a layer that a function asks for by the name that it was given, on a tensor of its own."""
    kernel, x = f"kernel{number}:0", f"parameter x@f{number}"
    name = Scoped(Name("name"), f"/{folder}/kernel")
    return [
        Statement((kernel,), Variable(name, (3, units))),
        Statement((f"made{number}:0",), call("tf.matmul", Value(x), Value(kernel))),
        Statement((f"shifted{number}:0",), call("tf.tanh", Infix("+", Value(f"made{number}:0"), Literal(0.5)))),
        Statement((f"last{number}:0",), call("tf.sqrt", call("tf.exp", Value(f"shifted{number}:0")))),
    ]


def outlined_functions(units):
    """What is outlined of bodies of functions with a parameter `name`, which do the same with their own tensors."""
    parts = [(unit(number, "up", of), [f"last{number}:0"]) for number, of in enumerate(units)]
    return outline_parts(parts, lambda tensor: [14, 3])


def test_names_that_functions_around_a_block_were_given_are_handed_on():
    (made,), bodies = outlined_functions([3, 3, 3, 3])
    assert made.parameters == ["scope", "x", "name"]
    assert expression_text(made.statements[0].expression) == 'scope.get(f"{name}/kernel", (3, 3))'
    assert {expression_text(body[-1].expression).split(", ")[-1] for body in bodies} == {'f"{name}/up")'}


def test_sizes_that_a_function_around_a_block_was_given_are_handed_on():
    (made,), bodies = outlined_functions([Name("units")] * 4)
    assert made.parameters == ["scope", "x", "name", "units"]
    assert all("units=units" in expression_text(body[-1].expression) for body in bodies)


def test_blocks_that_use_another_parameter_of_the_functions_around_them_are_no_function():
    def part(number, known):
        made = call("tf.nn.conv2d", Value(f"parameter x@f{number}"), strides=Name(known), padding="SAME")
        made = call("tf.tanh", call("tf.nn.relu", call("tf.exp", call("tf.sqrt", made))))
        return [
            Statement((f"a{number}:0",), made),
            Statement((f"b{number}:0",), call("tf.tanh", Value(f"a{number}:0"))),
        ]

    def functions(known):
        parts = [(part(number, known), [f"b{number}:0"]) for number in range(12)]
        return outline_parts(parts, lambda tensor: [14, 3])[0]

    assert functions("STRIDES") and not functions("strides")


def test_blocks_of_weights_that_only_some_calls_train_are_no_function():
    """As in a network and its copy, whose function is given whether its weights are trained."""

    def functions(trainable):
        parts = []
        for number in range(4):
            asked, *others = unit(number, "up", 3)
            asked = asked._replace(expression=dataclasses.replace(asked.expression, trainable=trainable))
            parts.append(([asked, *others], [f"last{number}:0"]))
        return outline_parts(parts, lambda tensor: [14, 3])[0]

    assert functions(True) and functions(False) and not functions(Name("trainable"))
