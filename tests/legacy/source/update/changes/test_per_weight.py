"""Lists of the values of several weights in an update."""

import doctest

from legacy.source.basics.expressions import Definition, Infix, Listing, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.update.changes import per_weight

GROUPS = {"OTHERS": ["s"], "WEIGHTS": list("abcde")}


class Recovery:
    """Definitions by their targets."""

    def __init__(self, **expressions):
        self.by_target = {target: Definition((target,), one) for target, one in expressions.items()}

    def definition(self, tensor):
        return self.by_target.get(tensor)

    def ordered(self, outputs):
        return list(self.by_target.values())

    def redefine(self, tensor, definition):
        self.by_target[tensor] = definition


def listed(*items, computed=True, **more):
    """The text of the norm of a list of gradients."""
    recovery = Recovery(norm=call("tf.linalg.global_norm", Listing(items)), **more)
    per_weight.list_items(recovery, [], GROUPS, computed)
    return expression_text(recovery.by_target["norm"].expression)


def of_weights(names):
    """What is done to the gradient of each of some weights."""
    return [Infix("*", Name(f'gradients["{name}"]'), Literal(2.0)) for name in names]


def test_the_docstrings_examples_hold():
    assert doctest.testmod(per_weight).failed == 0


def test_a_list_of_all_weights_values_is_a_comprehension():
    assert listed(*of_weights("abcde")) == "tf.linalg.global_norm([gradients[name] * 2.0 for name in WEIGHTS])"


def test_values_alone_may_be_listed_and_what_is_computed_from_them_stay():
    names = [Name(f'gradients["{name}"][0]') for name in "abcde"]
    assert listed(*names, computed=False) == "tf.linalg.global_norm([gradients[name][0] for name in WEIGHTS])"
    assert "name in" not in listed(*of_weights("abcde"), computed=False)


def test_the_values_of_neighbours_are_generated_beside_another_value():
    rows = {"rows": call("tf.abs", Value("values"))}
    text = "tf.linalg.global_norm([<rows>, *(gradients[name] * 2.0 for name in WEIGHTS[1:])])"
    assert listed(Value("rows"), *of_weights("bcde"), **rows) == text
    text = "tf.linalg.global_norm([*(gradients[name] * 2.0 for name in WEIGHTS[1:4]), <rows>])"
    assert listed(*of_weights("bcd"), Value("rows"), **rows) == text


def test_values_of_few_weights_or_in_another_order_stay():
    pair = 'tf.linalg.global_norm([gradients["a"] * 2.0, gradients["b"] * 2.0])'
    assert listed(*of_weights("ab")) == pair
    assert "name" not in listed(*of_weights("edc"))
    assert "name" not in listed(*map(Name, "xyz"))
