"""Schedules that choose constants by the step, beside other choices."""

import pytest
import tensorflow as tf

from legacy.source.definitions.choices_by_step import Pieces, pieces_of
from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, gradient_of, lifted, split_batch, towers, weights

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def branches_of_1x():
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if was_v2:
        v1.enable_control_flow_v2()


def pieces(step):
    return v1.train.piecewise_constant(step, [5, 9], [0.5, 0.25, 0.125])


def program(rate):
    """Towers whose learning rate is a function of the step."""

    def build():
        xs = split_batch()
        step = v1.train.get_or_create_global_step()
        mean = tf.add_n(towers(lambda tower: gradient_of(xs[tower]))) / TOWERS
        optimizer = v1.train.GradientDescentOptimizer(rate(step))
        return optimizer.apply_gradients([(mean, weights())], global_step=step)

    return build


def in_branch(step):
    return v1.cond(step < 3, lambda: tf.cast(step, tf.float32) / 3.0, lambda: pieces(step))


def in_front(step):
    main = pieces(step)
    return v1.cond(step < 3, lambda: tf.cast(step, tf.float32) / 3.0, lambda: main)


@pytest.mark.parametrize("rate", [in_branch, in_front])
def test_pieces_behind_a_warm_up_have_one_condition_for_each_range(rate, tmp_path):
    setup = lifted(program(rate), tmp_path)
    source = source_of(setup, "workload")
    assert "tf.where(step <= 5, 0.5, tf.where(step <= 9, 0.25, 0.125))" in source.text
    assert "update as in the old graph" not in "".join(source.notes)
    assert_workload_verified(setup, tmp_path, source, steps=12)


def test_another_boundary_is_seen(tmp_path):
    setup = lifted(program(in_branch), tmp_path)
    moved = lambda text: text.replace("step <= 9", "step <= 8")  # noqa: E731
    result = assert_workload_verified(setup, tmp_path, source_of(setup, "workload"), moved, steps=12)
    assert not result.passed and result.first.step == 9


def test_a_choice_of_other_values_than_constants_stays(tmp_path):
    def rate(step):
        number = tf.cast(step, tf.float32)
        return v1.cond(step > 2, lambda: v1.cond(step > 4, lambda: 1.0 / number, lambda: 0.25 * number), lambda: 0.5)

    setup = lifted(program(rate), tmp_path)
    source = source_of(setup, "workload")
    assert "step <= 4" not in source.text and "step > 4" in source.text
    assert_workload_verified(setup, tmp_path, source, steps=7)


def test_pieces_change_at_the_given_steps_and_nowhere_else():
    rates = lambda steps: [0.5 if step <= 4 else 0.25 for step in steps]  # noqa: E731
    assert pieces_of([4, 9], rates) == Pieces((4,), (0.5, 0.25))
    assert pieces_of([5, 9], rates) is None
    assert pieces_of([9], lambda steps: [0.5] * len(steps)) is None
