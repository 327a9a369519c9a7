"""Uses of a network as blocks of statements."""

from legacy.source.basics.expressions import Definition, Value, Variable, call
from legacy.source.repeats.network_uses import are_alike, block_of_use, body_of_use


def use(name, source, function="tf.tanh"):
    """The definitions of a dense layer of a use."""
    weight = Variable(f"{name}/w", (3, 3))
    return [
        Definition((f"{name}/read",), weight),
        Definition((f"{name}/product",), call("tf.matmul", Value(source), Value(f"{name}/read"))),
        Definition((f"{name}/out",), call(function, Value(f"{name}/product"))),
    ]


def blocks(*uses):
    definitions = [Definition(("other",), call("tf.square", Value("x"))), *(one for own in uses for one in own)]
    bodies, results = [], []
    for number, own in enumerate(uses):
        members = set(range(1 + 3 * number, 4 + 3 * number))
        results.append(list(own[-1].targets))
        bodies.append(body_of_use(definitions, results[-1], members, bodies[0] if bodies else ()))
    return [block_of_use(body, bodies[0], own) for body, own in zip(bodies, results)], results


def test_a_body_is_what_the_results_need():
    definitions = use("a", "x")
    assert body_of_use(definitions, ["a/product"], {0, 1, 2}, ()) == definitions[:2]


def test_uses_of_other_weights_are_alike_and_of_other_functions_not():
    assert are_alike(*blocks(use("a", "x"), use("b", "y")))
    assert not are_alike(*blocks(use("a", "x"), use("b", "y", "tf.sigmoid")))
