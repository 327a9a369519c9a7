"""Towers of which several take the same part of a batch, as where an index stops at the last part but one."""

import tensorflow as tf

from tests.legacy.saved.analysis.other_numbers.built import (
    assert_as_built,
    assert_own_number,
    in_towers,
    parts,
    results,
    trained,
)

v1 = tf.compat.v1
SHARED = "several towers take the same part of y, and others take another one"


def program(part_of):
    """A program whose tower `i` compares its results with part `part_of(i)` of the targets."""

    def build(towers):
        xs = parts(towers)
        ys = tf.split(v1.placeholder(tf.float32, [towers * 4, 2], name="y"), towers)
        losses = in_towers(towers, lambda tower: tf.reduce_mean((results(xs[tower]) - ys[part_of(tower)]) ** 2))
        return trained(losses)

    return build


def test_towers_that_share_a_part_get_the_same_rows_and_keep_their_number(tmp_path):
    assert_own_number(program(lambda tower: min(tower, 1)), SHARED, tmp_path, towers=3)


def test_towers_with_parts_of_their_own_run_at_any_number(tmp_path):
    assert_as_built(program(lambda tower: tower), tmp_path)
