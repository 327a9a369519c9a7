"""Penalties ask for the weights of layers by name, where these were asked for before."""

import functools
from operator import add

import tensorflow as tf

from legacy.source.basics.expressions import Definition, Infix, Value, call, values_used
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.penalties import penalties_ask_again, sum_penalties, with_shapes_first
from legacy.source.lines.statements import build_statements
from tests.legacy.source.tiny import recovered

WEIGHTS = {"a": [3, 3], "b": [3, 3]}
LONG = {f"net/{'layer' * 8}_{number}": [3, 3] for number in range(4)}


def texts(build, weights=None):
    """The expressions of what `build` computes of x and some weights, one a statement."""
    recovery, (end,) = recovered(build, {"x": [3]}, weights or WEIGHTS)
    definitions = [*recovery.ordered([end]), Definition((), end)]
    statements = with_shapes_first(build_statements(penalties_ask_again(definitions)), definitions)
    return [expression_text(statement.expression) for statement in statements]


def two_layers(x, a, b):
    return tf.reduce_mean(tf.matmul(tf.nn.relu(tf.matmul(x, a)), b))


def test_layers_take_their_weights_and_penalties_ask_by_name():
    found = texts(lambda x, a, b: 0.5 * tf.nn.l2_loss(a) + 0.5 * tf.nn.l2_loss(b) + two_layers(x, a, b))
    first, second, last = found
    assert 'scope.get("a", (3, 3))' in first and 'scope.get("b", (3, 3))' in second
    assert 'tf.nn.l2_loss(scope.get("a"))' in last and 'tf.nn.l2_loss(scope.get("b"))' in last


def test_a_penalty_before_the_layer_asks_with_the_shape():
    found = texts(lambda x, a, b: tf.matmul(tf.matmul(x, a) * tf.nn.l2_loss(b), b))
    asked = [text for text in found if "l2_loss" in text]
    assert len(asked) == 1 and 'tf.nn.l2_loss(scope.get("b", (3, 3)))' in asked[0]


def test_a_weight_of_several_layers_stays_one_value():
    """The parts of its gradient, three, have an order."""
    found = texts(lambda x, a, b: tf.nn.l2_loss(a) + two_layers(x, a, a))
    assert found.count('scope.get("a", (3, 3))') == 1 and 'scope.get("a")' not in " ".join(found)


def test_a_list_of_penalties_has_no_names_for_them():
    def build(x, **weights):
        penalties = [tf.nn.l2_loss(weight) * 0.25 for weight in weights.values()]
        for weight in weights.values():
            x = tf.matmul(x, weight)
        return tf.add_n([tf.reduce_mean(x), *penalties])

    *layers, whole, _ = texts(build, LONG)
    assert not any("l2_loss" in text for text in layers)
    assert all(f'tf.nn.l2_loss(scope.get("{name}")) * 0.25' in whole for name in LONG)


def sums(build):
    """The expressions of what `build` computes of x and long names of weights, with sums of penalties."""
    recovery, (end,) = recovered(build, {"x": [3]}, LONG)
    definitions = [*recovery.ordered([end]), Definition((), end)]
    return [expression_text(s.expression) for s in build_statements(sum_penalties(penalties_ask_again(definitions)))]


def test_a_sum_that_begins_with_a_table_of_numbers_is_no_sum_of_penalties():
    table = call("tf.constant", [[1.0, 0.0], [1.0, 1.0]])
    definition = Definition(("s:0",), Infix("+", table, Value("x:0")))
    assert sum_penalties([definition]) == [definition]


def through(x, weights):
    for weight in weights.values():
        x = tf.matmul(x, weight)
    return tf.reduce_mean(x)


def test_penalties_that_are_added_one_by_one_are_terms_of_one_sum():
    def build(x, **weights):
        penalty = tf.constant(0.0)
        for weight in weights.values():
            penalty += tf.nn.l2_loss(weight)
        return through(x, weights) + 0.5 * penalty

    terms = ", ".join(f'tf.nn.l2_loss(scope.get("{name}"))' for name in LONG)
    assert f"0.5 * sum([{terms}])" in sums(build)


def test_a_loss_that_penalties_are_added_to_is_the_first_term():
    def build(x, **weights):
        loss = through(x, weights)
        for weight in weights.values():
            loss += 0.5 * tf.nn.l2_loss(weight)
        return loss

    *_, last = sums(build)
    assert last.startswith("sum([") and last.count("0.5 * tf.nn.l2_loss(") == 4 and "sum([<Mean" in last


def test_what_the_first_term_is_made_of_stays():
    """As of a mean of squares, whose ops are each used once."""

    def build(x, **weights):
        loss = tf.reduce_mean(tf.square(x - 1.0))
        for weight in weights.values():
            loss += 0.5 * tf.nn.l2_loss(weight)
        return loss

    recovery, (end,) = recovered(build, {"x": [3]}, LONG)
    found = sum_penalties([*recovery.ordered([end]), Definition((), end)])
    made = {target for definition in found for target in definition.targets}
    used = {tensor for definition in found for tensor in values_used(definition.expression)}
    assert used <= made and any("sum([" in expression_text(definition.expression) for definition in found)


def test_few_penalties_and_other_terms_are_added_as_they_are():
    assert "sum(" not in str(sums(lambda x, **w: through(x, w) + functools.reduce(add, map(tf.reduce_max, w.values()))))

    def build(x, **weights):
        first, second, *_ = weights.values()
        return through(x, weights) + tf.nn.l2_loss(first) + tf.nn.l2_loss(second)

    assert "sum(" not in str(sums(build))


def begun_with_a_zero(count):
    """The sum of some penalties that a program adds to 0.0, and of what a layer of each weight gives, twice."""

    def build(x, **weights):
        penalty = 0.0
        for weight in list(weights.values())[:count]:
            penalty += 0.25 * tf.nn.l2_loss(weight)
        return through(x, weights) * through(x, weights) + penalty

    return build


def test_two_penalties_that_begin_with_a_zero_are_a_sum():
    assert "sum([0.25 * tf.nn.l2_loss(" in sums(begun_with_a_zero(2))[-1]
    assert "0.0 + " not in "".join(sums(begun_with_a_zero(2)))


def test_one_penalty_that_begins_with_a_zero_is_none():
    """Without the addition, the parts of the weight's gradient would be added in another order."""
    assert "0.0 + 0.25 * tf.nn.l2_loss(" in "".join(sums(begun_with_a_zero(1)))
