"""Steps that are unrolled in the old graph are a loop in the source."""

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Listing, Name, Value, call
from legacy.source.functions.function_lines import function_lines
from legacy.source.functions.step_loops import step_loop
from legacy.source.functions.unrolled import FEWEST, unrolled_steps
from legacy.source.lines.statements import Statement
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
SIZE = 3


def recurrent(steps, direction=1, layers=2, takes=1):
    """Layers that are unrolled; each step takes the state of `takes` steps before."""

    def program():
        parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, steps, SIZE], "x"), TOWERS)
        with v1.variable_scope("net"):
            made = [
                v1.get_variable(
                    f"{name}{layer}", [SIZE, SIZE], initializer=v1.glorot_uniform_initializer(), use_resource=False
                )
                for layer in range(layers)
                for name in "wv"
            ]

        def loss(tower):
            states = [[tf.zeros([BATCH, SIZE])] * takes for _ in range(layers)]
            outputs = []
            for x in tf.unstack(parts[tower], axis=1)[::direction]:
                for layer in range(layers):
                    w, v = made[2 * layer : 2 * layer + 2]
                    x = tf.tanh(tf.matmul(x, w) + tf.matmul(states[layer][-takes], v))
                    states[layer].append(x)
                outputs.append(x)
            return tf.reduce_mean(tf.concat(outputs, 1) ** 2)

        means = [tf.add_n(one) / TOWERS for one in zip(*towers(lambda tower: tf.gradients(loss(tower), made)))]
        return v1.train.GradientDescentOptimizer(0.25).apply_gradients(zip(means, made))

    return program


@pytest.mark.parametrize("direction, header", [(1, "for step in steps:"), (-1, "for step in steps[::-1]:")])
def test_layers_that_are_unrolled_are_a_loop(direction, header, tmp_path):
    setup = lifted(recurrent(6, direction), tmp_path)
    source = source_of(setup, "workload")
    assert header in source.text and "outputs = []" in source.text and "tf.concat(outputs, axis=1)" in source.text
    assert source.text.count("tf.tanh(") == 2
    assert "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers" in source.notes
    assert_workload_verified(setup, tmp_path, source)


def test_a_standalone_source_has_the_loop_too(tmp_path):
    setup = lifted(recurrent(6), tmp_path)
    assert "for step in steps:" in source_of(setup).text
    assert_trains_alike(setup, tmp_path)


def both_ways():
    """A layer that is unrolled forwards, and one backwards, whose results are joined step by step."""
    parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 5, SIZE], "x"), TOWERS)
    with v1.variable_scope("net"):
        made = [
            v1.get_variable(name, [SIZE, SIZE], initializer=v1.glorot_uniform_initializer(), use_resource=False)
            for name in ("w", "v", "wb", "vb")
        ]

    def loss(tower):
        ways = []
        for direction, w, v in ((1, *made[:2]), (-1, *made[2:])):
            state, outputs = tf.zeros([BATCH, SIZE]), []
            for x in tf.unstack(parts[tower], axis=1)[::direction]:
                state = tf.tanh(tf.matmul(x, w) + tf.matmul(state, v))
                outputs.append(state)
            ways.append(outputs[::direction])
        joined = [tf.concat(pair, 1) for pair in zip(*ways)]
        return tf.reduce_mean(tf.stack(joined, 1) ** 2)

    means = [tf.add_n(one) / TOWERS for one in zip(*towers(lambda tower: tf.gradients(loss(tower), made)))]
    return v1.train.GradientDescentOptimizer(0.25).apply_gradients(zip(means, made))


def test_layers_of_both_ways_are_two_loops_also_where_the_first_step_of_one_stands_before_the_other(tmp_path):
    setup = lifted(both_ways, tmp_path)
    source = source_of(setup, "workload")
    assert "for step in steps:" in source.text and source.text.count("tf.tanh(") == 2
    assert_workload_verified(setup, tmp_path, source)


@pytest.mark.parametrize("steps, takes", [(3, 1), (8, 2)])
def test_few_steps_and_those_that_take_older_results_are_none(steps, takes, tmp_path):
    text = source_of(lifted(recurrent(steps, takes=takes), tmp_path), "workload").text
    assert "for step in" not in text


def cells(turns, start=None, other=None, size=None):
    """The statements of cells that take items and the result before them, and their list."""
    items = tuple(f"i{n}:0" for n in range(size or turns))
    made = [Statement(items, call("tf.unstack", Name("data")))]
    for n in range(turns):
        before = Value(f"h{n - 1}:0") if n else start or Name("zeros")
        made.append(Statement((f"h{n}:0",), call(other if other and n == 2 else "cell", Value(items[n]), before)))
    return made


def lines_of(statements, end):
    shown = function_lines("f(scope, data)", "", [*statements, Statement((), end)], lambda tensor: [2], {})
    return [line.strip() for line in shown[2:]]


def test_results_are_in_the_list_that_later_lines_take_or_are_its_items():
    values = [Value(f"h{n}:0") for n in range(4)]
    lines = lines_of(cells(4), call("add", Listing(tuple(values[::-1])), Listing((Name("one"), *values)), values[1]))
    assert lines == [
        "steps = tf.unstack(data)",
        "h = zeros",
        "outputs = []",
        "for step in steps:",
        "h = cell(step, h)",
        "outputs.append(h)",
        "return add(outputs[::-1], [one, *outputs], outputs[1])",
    ]


def test_a_result_of_the_last_step_alone_needs_no_list():
    last = call("add", Value("h3:0"))
    assert lines_of(cells(4, size=6), last)[1:] == [
        "h = zeros",
        "for step in steps[:4]:",
        "h = cell(step, h)",
        "return add(h)",
    ]


def test_no_name_is_that_of_a_function_which_the_lines_call():
    lines = lines_of(cells(4), call("h", Value("h3:0")))
    assert "h = zeros" not in lines and lines[-1].startswith("return h(")


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_first_step_that_stands_before_other_lines_is_one_of_the_loop_if_these_do_not_take_its_result(is_taken):
    made = cells(5)
    between = Statement(("k:0",), call("between", Value("h0:0") if is_taken else Name("data")))
    lines = lines_of([*made[:2], between, *made[2:]], call("add", Value("h4:0"), Value("k:0"), Value("k:0")))
    assert ("for step in steps:" in lines) != is_taken and ("for step in steps[1:]:" in lines) == is_taken


@pytest.mark.parametrize("turns, other", [(FEWEST - 1, None), (4, "another")])
def test_other_statements_stay(turns, other):
    statements = [*cells(turns, other=other), Statement((), Value(f"h{turns - 1}:0"))]
    assert unrolled_steps(statements) == (statements, [])


def test_a_loop_says_what_later_lines_see():
    statements = [*cells(4), Statement((), Value("h3:0"))]
    ordered, (run,) = unrolled_steps(statements)
    names = {target: target.partition(":")[0] for one in ordered for target in one.targets}
    loop = step_loop(run, ordered, (), names)
    assert loop.names == {"h3:0": "h"} and not loop.lists
    assert loop.lines[0] == "    h = zeros"
