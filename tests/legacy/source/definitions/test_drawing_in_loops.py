"""Parameters of a loop's function for what its random numbers are drawn by."""

from legacy.source.basics.expressions import Definition, Infix, Name, call
from legacy.source.basics.rendering import expression_text
from legacy.source.definitions.drawing_in_loops import with_seeds


def with_parameters(expression):
    seeds = {}
    changed = with_seeds(Definition((), expression), seeds)
    return expression_text(changed.expression), {name: expression_text(value) for name, value in seeds.items()}


def test_each_stream_of_random_numbers_is_a_parameter():
    one, two = (call("scope.uniform", name, [2], turn=Name("time")) for name in ("in/dropout", "out/dropout"))
    text, given = with_parameters(Infix("+", one, two))
    assert text == "scope.uniform(stream, [2], turn=time) + scope.uniform(stream2, [2], turn=time)"
    assert given == {"scope": "scope", "stream": '"in/dropout"', "stream2": '"out/dropout"'}


def test_what_draws_nothing_has_no_parameter():
    assert with_parameters(call("tf.tanh", Name("x"))) == ("tf.tanh(x)", {})
