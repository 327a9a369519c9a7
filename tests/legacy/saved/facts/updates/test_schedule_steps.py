"""Steps at which a page evaluates a schedule."""

import types

import pytest
import tensorflow as tf

from legacy.saved.facts.updates.schedule_steps import STEPS, changes, steps_to_show
from tests.legacy.saved.graphs import traced


def own_steps(made, of_examples=True):
    """The steps that a function of the step adds to `STEPS`."""

    def schedule():
        made(tf.compat.v1.placeholder(tf.int32, [], "step"))

    piece = types.SimpleNamespace(graph_def=traced(schedule).graph_def)
    return sorted(set(steps_to_show(piece.graph_def.node, of_examples)) - set(STEPS))


@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda step: step * 2, [2, 3]),
        (lambda step: step < 700, [700, 701]),
        (lambda step: step - 5 < 700, [5, 6, 10, 11, 700, 701, 705, 706]),
        (lambda step: step // 20 < 30, [20, 21, 30, 31, 600, 601]),  # epochs of 20 steps
    ],
)
def test_boundaries_of_a_schedule_and_the_steps_after_them(made, expected):
    assert set(expected) <= set(own_steps(made, of_examples=False))


def test_examples_by_those_of_a_step_are_steps():
    def decay(step):
        return tf.cast(step * 64, tf.float32) / 51200.0

    assert {800, 801} <= set(own_steps(decay))
    assert 800 not in own_steps(decay, of_examples=False)


def test_a_schedule_that_changes_and_returns_is_seen_half_way():
    assert changes(lambda step: min(step, 10 - step), [0, 10]) == [(0, 0), (5, 5), (10, 0)]
    assert changes(lambda step: 1.0 + 1e-9 * step, [0, 10, 20]) == [(0, 1.0)]  # a rounding is no change


def test_a_value_that_follows_at_once_has_the_step_behind_the_one_before():
    """As of a rate that applies to step 0 alone; one that changes later keeps the step at which it was evaluated."""
    assert changes(lambda step: 1.0 if step < 1 else 0.5, [0, 10]) == [(0, 1.0), (1, 0.5)]
    assert changes(lambda step: 1.0 if step < 11 else 0.5, [0, 10, 100]) == [(0, 1.0), (11, 0.5)]
    assert changes(lambda step: 1.0 if step < 5 else 0.5, [0, 10]) == [(0, 1.0), (10, 0.5)]
