"""Reductions over replicas: their value by hand, and what the graph's own update gets in its place."""

import numpy as np
import tensorflow as tf

from legacy.rerun.reductions import build_reduction, joined_rows
from tests.small_lift import small_plan

v1 = tf.compat.v1


def reduced(plan, towers, values):
    """The combined gradient of replicas that run these towers, and what replaces it in the graph."""
    phase = plan.phases[0]
    with tf.Graph().as_default(), v1.Session() as session:
        reduction = build_reduction(plan, phase, phase.combine[0], towers, "add_n")
        computed = [{name: np.float32(value) for name in part} for part, value in zip(reduction.parts, values)]
        value = session.run(reduction.result, reduction.given(computed))
    return value, reduction.replaced(value)


def test_the_mean_is_over_the_replicas_and_not_the_towers():
    value, replaced = reduced(small_plan(), [0, 1, 0], [1.0, 2.0, 6.0])
    assert value == 3.0
    assert replaced == {small_plan().phases[0].combine[0].tensor: 3.0}


def test_an_affine_combining_gets_all_of_the_gradient_by_the_first_tower():
    plan = small_plan()
    combine = plan.phases[0].combine[0]
    combine.affine = True
    first, second = (tower[0] for tower in combine.parts)
    value, replaced = reduced(plan, [0, 1], [1.0, 3.0])
    assert value == 4.0  # the graph takes the mean of 4 and 0 itself
    assert replaced == {first: 4.0, second: 0.0}


def test_only_concatenated_gradients_hold_the_rows_of_all_towers():
    plan = small_plan()
    assert joined_rows(plan) == []
    plan.phases[0].combine[0].kind = "concat"
    assert joined_rows(plan) == [plan.phases[0].combine[0].tensor]
