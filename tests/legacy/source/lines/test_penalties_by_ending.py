"""Penalties on all weights of one name name no weight; penalties on some do."""

from __future__ import annotations

import pytest

from legacy.source.basics.expressions import Expression, Infix, Listing, Literal, Name, Value, Variable, call
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.penalties_by_ending import MANY, penalties_by_ending
from legacy.source.lines.statements import Statement

NAMES = [f"layer{n}/weights" for n in range(MANY)]


def asks(name: object) -> Statement:
    return Statement((f"{name}:0",), Variable(name, (2, 2)))


def loss(names: list[str], factors: list[float] | None = None, decay: Expression | None = None) -> Statement:
    terms = [call("tf.nn.l2_loss", call("scope.get", name)) for name in names]
    numbers = [Literal(factor) for factor in factors or [0.5] * len(names)]
    scaled = [Infix("*", decay or number, term) for number, term in zip(numbers, terms)]
    return Statement((), call("sum", Listing(tuple(scaled))))


def written(statements: list[Statement]) -> str:
    return expression_text(penalties_by_ending(statements)[-1].expression)


def test_penalties_on_all_weights_of_one_name_are_one():
    statements = [*map(asks, NAMES), asks("layer0/biases"), loss(NAMES)]
    assert written(statements) == 'sum([0.5 * tf.nn.l2_loss(scope.get(name)) for name in scope.names("/weights")])'


def test_penalties_may_follow_the_loss_of_the_data_in_a_list():
    data = call("tf.reduce_mean", Name("losses"))
    terms = [data, *loss(NAMES).expression.arguments[0].value.items]
    whole = Statement((), call("tf.add_n", Listing(tuple(terms))))
    penalties = '*(0.5 * tf.nn.l2_loss(scope.get(name)) for name in scope.names("/weights"))'
    assert written([*map(asks, NAMES), whole]) == f"tf.add_n([tf.reduce_mean(losses), {penalties}])"


def test_a_weight_whose_penalty_comes_before_those_of_earlier_layers_is_asked_for_before_these():
    order = [*NAMES[:-3], NAMES[-1], *NAMES[-3:-1]]
    layers = [
        Statement((f"x{n}",), call("tf.matmul", Value("x"), asks(name).expression)) for n, name in enumerate(NAMES)
    ]
    found = penalties_by_ending([*layers, loss(order)])
    assert "scope.names" in expression_text(found[-1].expression) and len(found) == len(layers) + 2
    early = found[len(NAMES) - 3]
    assert early.expression == asks(NAMES[-1]).expression
    assert found[-2].expression == call("tf.matmul", Value("x"), Value(early.targets[0]))


@pytest.mark.parametrize(
    "statements",
    [
        [*map(asks, NAMES), asks("out/weights"), loss(NAMES)],  # one has no penalty
        [*map(asks, NAMES), loss(NAMES), asks("out/weights")],  # the same, where it is asked for later
        [*map(asks, NAMES), loss(NAMES[::-1])],  # a sum in another order has other bits
        [*map(asks, NAMES), loss(NAMES, [float(n) for n in range(MANY)])],  # factors differ
        [*map(asks, NAMES[1:]), loss(NAMES[1:])],  # few enough to be named
        [*map(asks, NAMES), loss(NAMES, decay=Value("decay:0"))],  # a decay that the model computes, as by a schedule
        [*map(asks, NAMES), asks(Name("of_tower")), loss(NAMES)],  # a name that is not known here
        [*map(asks, NAMES), Statement((), call("sum", Listing(tuple(Value(f"{name}:0") for name in NAMES))))],
    ],
)
def test_other_penalties_stay(statements):
    assert penalties_by_ending(statements) == statements


def test_weights_of_loops_cannot_be_named_so():
    statements = [*map(asks, NAMES), loss(NAMES)]
    assert penalties_by_ending(statements, [asks("loop/weights")]) == statements
