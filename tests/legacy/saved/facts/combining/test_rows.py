"""Rows of the ways in which gradients are combined."""

import pytest
import tensorflow as tf

from legacy.saved.facts.combining.rows import combining_rows
from tests.legacy.saved.facts.tower_pages import analysed_step, descend, parts, program, squares, variable


@pytest.mark.parametrize("all_reduced, ops", [(["total"], "NcclAllReduce, RealDiv"), ([], "AddN, RealDiv")])
def test_a_sum_by_nccl_is_said_to_be_one(all_reduced, ops):
    def build():
        x = parts("x", 8, 3)
        program(lambda tower: squares(x(tower)), combine=lambda row: tf.add_n(list(row), name="total") / 2.0)()

    (row,) = combining_rows(analysed_step(build), all_reduced)
    assert (row["are"], row["by"]) == ("mean", ops)


@pytest.mark.parametrize(
    "groups, is_joint, expected",
    [
        ((2, 2), False, [("2", "by a global norm of these alone, at 5")] * 2),
        ((2, 2), True, [("4", "by global norm, at 5")]),
        ((4,), False, [("4", "by global norm, at 5")]),
    ],
)
@pytest.mark.parametrize("in_towers", [False, True])
def test_groups_of_gradients_with_norms_of_their_own_are_told_apart(groups, is_joint, expected, in_towers):
    """`is_joint`: whether the norm of all gradients is what each group is clipped by."""

    def clipped(gradients):
        norm, found = tf.linalg.global_norm(gradients) if is_joint else None, []
        for number, size in enumerate(groups):
            own = gradients[number * size : (number + 1) * size]
            found += tf.clip_by_global_norm(own, 5.0, use_norm=norm)[0]
        return found

    def build():
        x, towers = parts("x", 8, 3), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                weights = [variable(f"w{k}", 3, 1) for k in range(4)]
                gradients = tf.gradients(sum(tf.reduce_mean((x(tower) @ w) ** 2) for w in weights), weights)
                towers.append(clipped(gradients) if in_towers else gradients)
        means = [tf.add_n(list(row)) / 2.0 for row in zip(*towers)]
        descend(list(zip(means if in_towers else clipped(means), weights)))

    rows = [(row["gradients"], row["clipped"]) for row in combining_rows(analysed_step(build))]
    place = "in each tower, " if in_towers else "after combining, "
    assert rows == [(count, place + text) for count, text in expected]


@pytest.mark.parametrize("lacking", [0, 1])
def test_towers_with_other_gradients_have_no_groups(lacking):
    """The norms of both towers, of which one lacks a weight, are those of all gradients of a tower."""

    def build():
        x, gradients = parts("x", 8, 3), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                weights = [variable(f"w{k}", 3, 1) for k in range(3)]
                used = weights[: 3 - (tower < lacking)]
                own = tf.gradients(sum(tf.reduce_mean((x(tower) @ w) ** 2) for w in used), used)
                gradients.append(tf.clip_by_global_norm(own, 5.0)[0])
        means = [tf.add_n(list(row)) / 2.0 for row in zip(*gradients)]
        descend(list(zip([*means, *gradients[1][len(means) :]], weights)))

    clipped = {row["clipped"] for row in combining_rows(analysed_step(build))}
    assert all("of these alone" not in text and "by global norm, at 5" in text for text in clipped)
