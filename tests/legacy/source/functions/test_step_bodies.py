"""Bodies of unrolled steps: what stands for a step's own results, for those of the step before, and for items."""

from legacy.source.basics.expressions import Value, call
from legacy.source.functions.step_bodies import before_name, body_of_step, items_taken, own_name, results_before
from legacy.source.lines.statements import Statement

#: The items of a list whose first tensor is called x0.
ITEMS = {f"x{number}": ("x0", number) for number in range(4)}


def step(number):
    """The two statements of a step, which takes an item and the second result of the step before."""
    taken = call("tf.matmul", Value(f"x{number}"), Value(f"h{number - 1}"))
    return [
        Statement((f"m{number}",), taken),
        Statement((f"h{number}",), call("tf.tanh", Value(f"m{number}"))),
    ]


def test_equal_steps_have_equal_bodies():
    statements = [*step(1), *step(2), *step(3)]
    second, third = (body_of_step(statements, ITEMS, 2 * number, 2, number) for number in (1, 2))
    assert second == third
    assert [results_before(one) for one in second] == [[(1, 0)], []]
    assert list(items_taken(second).values()) == [("x0", 1)]
    assert second[1] == call("tf.tanh", own_name(0, 0)) and second[0].arguments[1].value == before_name(1, 0)


def test_a_step_of_other_items_has_another_body():
    statements = [*step(1), *step(2), *step(2)]
    assert body_of_step(statements, ITEMS, 2, 2, 1) != body_of_step(statements, ITEMS, 4, 2, 2)
