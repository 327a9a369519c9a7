"""Unrolled steps whose names and slices count them, as `dropout`, `dropout_1` and so on, are a loop in the source."""

import re

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Item, Listing, Name, Value, call
from legacy.source.functions.first_steps import MOST_BETWEEN
from legacy.source.functions.function_lines import function_lines
from legacy.source.functions.loop_headers import without_item
from legacy.source.functions.step_series import Series, number_text, series_between
from legacy.source.functions.unrolled_results import with_steps_apart
from legacy.source.lines.statements import Statement
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
SIZE, STEPS, CLASSES, KEEP = 3, 6, 4, 0.75


def drop(x):
    """Dropout of 1.x, whose name scope has a number from the second one on."""
    with v1.name_scope("dropout"):
        return x / KEEP * tf.floor(KEEP + v1.random_uniform(tf.shape(x)))


def weight(name, shape):
    return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(), use_resource=False)


def recurrent(layers=1, drops="o", steps=STEPS, each_step=False, skips=False):
    """Layers of plain cells, unrolled, with dropout on their inputs ("i"), states ("s") or outputs ("o").

    The loss is that of all steps at once, or the sum of those of `each_step`. Without dropout in the fourth step where
    it `skips` one, so that the steps are not alike.
    """

    def program():
        parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, steps, SIZE], "x"), TOWERS)
        labels = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, steps], "y"), TOWERS)
        with v1.variable_scope("net"):
            cells = [(weight(f"w{n}", [SIZE, SIZE]), weight(f"v{n}", [SIZE, SIZE])) for n in range(layers)]
            kernel = weight("kernel", [SIZE, CLASSES])
        made = [one for pair in cells for one in pair] + [kernel]

        def loss(tower):
            states, results = [tf.zeros([BATCH, SIZE])] * layers, []
            for step in range(steps):
                x = parts[tower][:, step]
                for layer, (w, v) in enumerate(cells):
                    x = drop(x) if "i" in drops else x
                    x = tf.tanh(tf.matmul(x, w) + tf.matmul(states[layer], v))
                    states[layer] = drop(x) if "s" in drops else x
                    x = drop(x) if "o" in drops and not (skips and step == 3) else x
                results.append(x)
            if not each_step:
                return tf.reduce_mean(tf.concat(results, 1) ** 2)
            logits = [tf.matmul(one, kernel) for one in results]
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
            losses = [tf.reduce_mean(entropy(labels=labels[tower][:, n], logits=one)) for n, one in enumerate(logits)]
            return tf.add_n(losses) / steps

        made = made if each_step else made[:-1]
        means = [tf.add_n(one) / TOWERS for one in zip(*towers(lambda tower: tf.gradients(loss(tower), made)))]
        return v1.train.GradientDescentOptimizer(0.25).apply_gradients(zip(means, made))

    return program


def loss_lines(text):
    return re.search(r"^def tower_loss.*?(?=^\S)", text[text.index("def tower_loss") :], re.S | re.M)[0]


@pytest.mark.parametrize(
    "layers, drops, each_step, dropouts",
    [(1, "o", False, 1), (2, "io", False, 4), (1, "is", False, 2), (2, "o", True, 2)],
)
def test_cells_with_dropout_are_a_loop(layers, drops, each_step, dropouts, tmp_path):
    setup = lifted(recurrent(layers, drops, each_step=each_step), tmp_path)
    source = source_of(setup, "workload")
    text = loss_lines(source.text)
    assert text.count("for ") == 1 and text.count("dropout_by_keep_prob(") >= dropouts
    assert text.count("tf.tanh(") <= layers + ("s" in drops)
    assert ("losses.append(" in text) == each_step
    assert "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers" in source.notes
    assert_workload_verified(setup, tmp_path, source, steps=20)


def test_a_standalone_source_draws_the_same_numbers(tmp_path):
    setup = lifted(recurrent(2, "io"), tmp_path)
    text = source_of(setup).text
    assert text.count('if step else ""') == 1
    assert_trains_alike(setup, tmp_path)


def test_a_number_of_another_step_shows_in_the_comparison(tmp_path):
    """The negative control: a loop that draws the numbers of other steps is no port."""
    setup = lifted(recurrent(), tmp_path)
    source = source_of(setup, "workload")
    wrong = assert_workload_verified(
        setup, tmp_path, source, changed=lambda text: text.replace('f"_{step}" if step', 'f"_{5 - step}" if step < 5')
    )
    assert not wrong.passed


@pytest.mark.parametrize("steps, skips", [(3, False), (6, True)])
def test_few_steps_and_one_that_is_unlike_the_others_are_no_loop_of_all(steps, skips, tmp_path):
    text = loss_lines(source_of(lifted(recurrent(steps=steps, skips=skips), tmp_path), "workload").text)
    assert "suffix" not in text and ("for " in text) == skips


def counted(turns, first="drop", ends=None):
    """Statements of steps that draw numbers by names which count them, and take slices."""
    made = []
    for n in range(turns):
        name = ends[n] if ends else f"{first}_{n}" if n else first
        before = Value(f"h{n - 1}:0") if n else Name("zeros")
        part = Item(Name("data"), f":, {n}")
        made.append(Statement((f"h{n}:0",), call("cell", part, before, call("draw", name))))
    return made


def lines_of(statements, end):
    shown = function_lines("f(scope, data)", "", [*statements, Statement((), end)], lambda tensor: [2], {})
    return [line.strip() for line in shown[2:]]


def test_names_and_slices_that_count_the_steps():
    assert lines_of(counted(4), call("add", Value("h3:0"))) == [
        "h = zeros",
        "for step in range(4):",
        'suffix = f"_{step}" if step else ""',
        'h = cell(data[:, step], h, draw(f"drop{suffix}"))',
        "return add(h)",
    ]


@pytest.mark.parametrize("ends", [["a", "b", "c", "d"], ["a", "a_1", "a_3", "a_4"], ["a", "a_1", "b_2", "b_3"]])
def test_names_that_do_not_count_are_no_loop(ends):
    assert not any(line.startswith("for ") for line in lines_of(counted(4, ends=ends), call("add", Value("h3:0"))))


def alike(turns, ends):
    """Statements of the same layer on several slices, the results of which the `ends` take."""
    made = [Statement((f"l{n}:0",), call("layer", Item(Name("data"), f":, {n}"), Name("kernel"))) for n in range(turns)]
    return lines_of(made, ends([Value(f"l{n}:0") for n in range(turns)]))


def test_the_same_layer_on_several_inputs_is_a_list_where_later_lines_take_it_as_one():
    whole = alike(5, lambda values: call("tf.add_n", Listing(tuple(values))))
    assert whole == ["outputs = [layer(data[:, step], kernel) for step in range(5)]", "return tf.add_n(outputs)"]


def test_results_that_are_taken_one_by_one_stay_apart():
    apart = alike(4, lambda values: call("box", values[0], call("f", values[1]), *values[2:]))
    apart_lines = alike(4, lambda values: call("tf.concat", Listing(tuple(values[:3]))))
    assert all("for " not in line for line in [*apart_lines])
    assert apart[-1].startswith("return box(")


def test_lists_of_two_loops_are_gone_through_at_once_also_from_the_end_on():
    ways = []
    for way in (1, -1):
        items = tuple(f"i{n}:0" for n in range(4))
        for number, n in enumerate(range(4)[::way]):
            before = Value(f"{'fb'[way < 0]}{n - way}:0") if number else Name("zeros")
            ways.append(Statement((f"{'fb'[way < 0]}{n}:0",), call("cell", Value(items[n]), before)))
    listed = [Statement(items, call("tf.unstack", Name("data")))]
    joined = [Statement((f"j{n}:0",), call("tf.concat", Value(f"f{n}:0"), Value(f"b{n}:0"))) for n in range(4)]
    lines = lines_of([*listed, *ways, *joined], call("tf.stack", Listing(tuple(Value(f"j{n}:0") for n in range(4)))))
    assert lines[-2:] == [
        "outputs3 = [tf.concat(output, output2) for output, output2 in zip(outputs, outputs2[::-1])]",
        "return tf.stack(outputs3)",
    ]


def test_definitions_between_those_of_the_first_step_come_before_it():
    first, *others = counted(4)
    shared = Statement(("k:0",), call("made", Name("data")))
    made = [Statement(("s0:0",), call("start", Item(Name("data"), "0"))), shared, first]
    rest = [
        [Statement((f"s{n}:0",), call("start", Item(Name("data"), f"{n}"))), one] for n, one in enumerate(others, 1)
    ]
    statements = [*made, *(one for pair in rest for one in pair)]
    used = call("add", *(Value(f"s{n}:0") for n in range(4)), Value("h3:0"), Value("k:0"))
    apart = with_steps_apart([*statements, Statement((), used)])
    assert [one.targets[0] for one in apart.definitions[:3]] == ["k:0", "s0:0", "h0:0"]
    assert {"s0:0", "s3:0", "h3:0"} <= apart.kept and "k:0" not in apart.of_steps
    assert MOST_BETWEEN > 1


def test_texts_that_count():
    assert series_between('"a_1/d"', '"a_2/d"') == Series(('"a_', "1", '/d"'), (1,))
    assert series_between('"a_1/d"', '"b_2/d"') is None
    assert number_text(3, -1, "step") == "3 - step" and without_item("steps[0]") == "steps"
