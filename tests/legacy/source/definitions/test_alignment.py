"""Alignment of towers: what differs by constants is one expression, what differs by more stays as it is."""

import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.definitions.alignment import align_towers
from legacy.source.definitions.differences import adopt_values
from legacy.source.definitions.numbering import Numbering
from tests.legacy.source.tiny import recovered

v1 = tf.compat.v1
X = {"x": [2]}


def aligned(*builds):
    """(whether towers that compute these are aligned, the first one's definition of its end)."""
    made = [recovered(build, X) for build in builds]
    done = align_towers([recovery for recovery, _ in made], [ends for _, ends in made])
    recovery, (end,) = made[0]
    return done is not None, expression_text(recovery.definition(end.tensor).expression)


def test_a_number_of_each_tower_is_chosen_by_the_replica():
    done, text = aligned(lambda x: tf.sqrt(x) * 2.0, lambda x: tf.sqrt(x) * 3.0, lambda x: tf.sqrt(x) * 5.0)
    assert done and text.endswith("* (2.0, 3.0, 5.0)[scope.replica % 3]")


def test_equal_towers_stay():
    done, text = aligned(lambda x: x * 2.0, lambda x: x * 2.0)
    assert done and "replica" not in text


def test_a_window_of_each_tower_is_chosen_by_the_replica():
    done, text = aligned(lambda x: x[:, 1:] * 2.0, lambda x: x[:, :1] * 2.0)
    assert done and text == "<strided_slice:0> * 2.0"
    recovery, (end,) = recovered(lambda x: x[:, 1:], X)
    other, (own,) = recovered(lambda x: x[:, :1], X)
    assert align_towers([recovery, other], [[end], [own]]) is not None
    text = expression_text(recovery.definition(end.tensor).expression)
    window = "(1, 0)[scope.replica % 2]:(None, 1)[scope.replica % 2]"
    assert text == f"<x:0>[:, {window}]"


def test_a_window_that_the_towers_share_and_one_of_another_step_stay():
    done, text = aligned(lambda x: x[:, 1:] * 2.0, lambda x: x[:, 1:] * 2.0)
    assert done and "replica" not in text
    done, _ = aligned(lambda x: x[:, ::2] * 2.0, lambda x: x[:, :1] * 2.0)
    assert not done


def test_what_follows_from_a_number_of_each_tower_is_computed_once_for_all():
    def tower(number):
        def build(x):
            product = x * number
            return [product, tf.sqrt(product)]

        return recovered(build, X)

    (first, (one, _)), (last, (other, root)) = tower(2.0), tower(3.0)
    partners = align_towers([first, last], [[one], [other]])
    assert partners is not None
    (moved,) = adopt_values(first, last, [root], partners[1])
    texts = [expression_text(item.expression) for item in first.ordered([moved])]
    assert texts[1:] == ["<x:0> * (2.0, 3.0)[scope.replica % 2]", "tf.sqrt(<mul:0>)"]


def test_another_term_is_no_constant_and_changes_nothing():
    done, text = aligned(lambda x: x * 2.0 + 1.0, lambda x: x * 3.0)
    assert not done and "replica" not in text


def test_one_value_does_not_stand_for_two():
    def one(x):
        y = x * 2.0
        return y + y

    done, text = aligned(one, lambda x: x * 2.0 + x * 3.0)
    assert not done and "replica" not in text


def looped(factor):
    """A loop of 1.x that multiplies."""

    def build(x):
        was_v2 = v1.control_flow_v2_enabled()
        v1.disable_control_flow_v2()
        step = lambda turn, state: (turn + 1, state * factor)  # noqa: E731
        try:
            return tf.sqrt(v1.while_loop(lambda turn, state: turn < 3, step, [0, x])[1])
        finally:
            (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()

    return build


def test_loops_whose_functions_differ_are_not_equal():
    assert aligned(looped(2.0), looped(2.0))[0]
    assert not aligned(looped(2.0), looped(3.0))[0]


def test_equal_computations_have_equal_numbers():
    (one, (end,)), (two, (other,)) = recovered(lambda x: tf.exp(x), X), recovered(lambda x: tf.exp(x), X)
    numbering = Numbering([one, two])
    assert numbering.key(0, end) == numbering.key(1, other)
