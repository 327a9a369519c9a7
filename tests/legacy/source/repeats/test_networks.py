"""Networks that are used several times: one function, called for each use."""

import tensorflow as tf

from legacy.source.basics.expressions import Call, Definition, Lambda, Name, Value, Variable, call, replace, values_used
from legacy.source.basics.rendering import expression_text
from legacy.source.repeats.network_functions import with_networks
from legacy.source.repeats.networks import find_networks, without_data
from tests.legacy.source.tiny import recovered

v1 = tf.compat.v1
WEIGHTS = {name: [3, 3] for name in ("d/w1", "d/w2", "d/w3", "d/w4")}


def network(x, weights, activation=tf.nn.relu):
    for weight in weights:
        x = activation(tf.matmul(x, weight))
    return x


def definitions_of(build, weights=WEIGHTS):
    """(definitions, shape) of what `build` computes of x, y and a list of the weights."""
    names = {f"weight{number}": name for number, name in enumerate(weights)}
    variables = {name: weights[names[name]] for name in names}
    recovery, (end,) = recovered(
        lambda x, y, **given: build(x, y, list(given.values())), {"x": [3], "y": [3]}, variables
    )
    definitions = []
    for targets, expression in [*recovery.ordered([end]), ((), end)]:
        if isinstance(expression, Variable):
            expression = Variable(names[expression.name], expression.shape, "", expression.trainable)
        definitions.append(Definition(targets, expression))
    return definitions, recovery.shape


def made_of(build, weights=WEIGHTS):
    definitions, shape = definitions_of(build, weights)
    return with_networks([definitions], shape, 14)


def calls_of(made, name):
    return [d for part in made.parts for d in part if isinstance(d.expression, Call) and d.expression.function == name]


def test_a_network_with_two_uses_is_one_function():
    made = made_of(lambda x, y, w: tf.reduce_mean(network(x, w)) - tf.reduce_mean(network(y, w)))
    (function,) = made.functions
    assert (function.name, function.parameters, function.is_network) == ("d", ["scope", "x"], True)
    assert len(function.statements) == 4 and len(calls_of(made, "d")) == 2
    texts = [expression_text(call.expression) for call in calls_of(made, "d")]
    assert texts == ["d(scope, <x:0>)", "d(scope, <y:0>)"]


def test_what_is_computed_of_no_data_may_use_each_value_twice():
    """Written out, the text of such a value would double with every definition."""

    def numbers():
        drawn = tf.random.uniform([14, 3])
        for _ in range(30):
            drawn = tf.tanh(drawn) * drawn
        return drawn

    made = made_of(lambda x, y, w: tf.reduce_mean(network(numbers(), w)) - tf.reduce_mean(network(numbers(), w)))
    assert len(calls_of(made, "d")) == 2


def test_a_use_of_the_other_use_is_an_argument():
    made = made_of(lambda x, y, w: tf.reduce_mean(network(network(x, w), w)))
    first, second = calls_of(made, "d")
    assert values_used(second.expression) == list(first.targets)


def test_other_ops_or_few_weights_make_no_function():
    assert not made_of(lambda x, y, w: tf.reduce_mean(network(x, w) - network(y, w, tf.tanh))).functions
    few = dict(list(WEIGHTS.items())[:2])
    assert not made_of(lambda x, y, w: tf.reduce_mean(network(x, w) - network(y, w)), few).functions


def test_networks_of_the_same_form_differ_by_a_name_and_by_whether_they_are_trained():
    both = {f"{net}/{name[2:]}": [3, 3] for net in ("q", "target_q") for name in WEIGHTS}
    definitions, shape = definitions_of(lambda x, y, w: tf.reduce_mean(network(x, w[:4]) - network(y, w[4:])), both)

    def held(d):
        is_held = isinstance(d.expression, Variable) and d.expression.name.startswith("target")
        return d._replace(expression=Variable(d.expression.name, (3, 3), "", False)) if is_held else d

    made = with_networks([[held(definition) for definition in definitions]], shape, 14)
    (function,) = made.functions
    assert (function.name, function.parameters) == ("q", ["scope", "x", "name", "trainable"])
    assert 'scope.get(f"{name}/w1", (3, 3), trainable=trainable)' in expression_text(function.statements[0].expression)
    texts = [expression_text(call.expression) for call in calls_of(made, "q")]
    assert texts[0].endswith('"q", trainable=True)') and texts[1].endswith('"target_q", trainable=False)')


def test_losses_share_the_networks_that_each_uses_once():
    definitions, shape = definitions_of(lambda x, y, w: tf.reduce_mean(network(x, w)))
    renamed = {t: t + "#1" for d in definitions for t in d.targets}

    def new(part):
        return Value(renamed[part.tensor]) if isinstance(part, Value) else None

    others = [Definition(tuple(renamed[t] for t in d.targets), replace(d.expression, new)) for d in definitions]
    made = with_networks([definitions, others], lambda tensor: shape(tensor.partition("#")[0]), 14)
    assert len(made.functions) == 1 and [len(calls_of(made._replace(parts=[part]), "d")) for part in made.parts] == [
        1,
        1,
    ]


def statistics_of(definitions, order):
    """Definitions in which each use's third product updates a statistic, in an order."""
    products = [d.targets[0] for d in definitions if "matmul" in expression_text(d.expression)]
    uses = [products[2], products[6]]
    *before, last = definitions
    ask = Definition((), Variable("d/mean", (3,), "", False))
    updates = [
        Definition((), call("scope.update", "d/mean", Lambda("now", call("tf.add", Name("now"), Value(uses[number])))))
        for number in order
    ]
    return [*before, ask, *updates, last]


def test_calls_are_in_the_order_of_their_updates():
    definitions, shape = definitions_of(lambda x, y, w: tf.reduce_mean(network(x, w) - network(y, w)))
    for order in ((0, 1), (1, 0)):
        made = with_networks([statistics_of(definitions, order)], shape, 14)
        (function,) = made.functions
        assert [s.expression.name for s in function.statements if isinstance(s.expression, Variable)] == ["d/mean"]
        texts = [expression_text(call.expression) for call in calls_of(made, "d")]
        assert texts == [f"d(scope, <{'xy'[number]}:0>)" for number in order]
        assert {target for call in calls_of(made, "d") for target in call.targets} == made.updating
        assert not any(isinstance(d.expression, Variable) and not d.targets for d in made.parts[0])


def test_a_network_ends_with_the_name_scope_of_its_layers():
    def scoped(x, w, name):
        with v1.name_scope(name):
            x = network(x, w)
        return tf.concat([x, x * 2.0], 1)

    definitions, shape = definitions_of(lambda x, y, w: tf.reduce_mean(scoped(x, w, "d") * scoped(y, w, "d_1")))
    (found,) = find_networks(definitions, shape, without_data(definitions))
    ends = [expression_text(definitions[use.members[-1]].expression) for use in found.uses]
    assert len(found.uses) == 2 and all("relu" in text for text in ends)


def test_what_is_done_to_the_result_of_some_uses_is_no_part_of_the_network():
    made = made_of(lambda x, y, w: tf.reduce_mean(-network(x, w) + tf.exp(network(-y, w)) * -network(x + y, w)))
    assert len(made.functions) == 1 and len(calls_of(made, "d")) == 3
    assert "-" not in str([expression_text(s.expression) for s in made.functions[0].statements])
