"""Rows on the towers of a program."""

import tensorflow as tf

from legacy.saved.facts.tower_rows import tower_rows
from tests.legacy.saved.facts.tower_pages import analysed_step, parts, program, squares


def test_towers_that_are_equal_and_towers_that_differ():
    def of(loss):
        def build():
            x = parts("x", 8, 3)
            program(lambda tower: loss(x(tower), tower))()

        return tower_rows(analysed_step(build))

    rows = {row["what"]: row["is"] for row in of(lambda x, tower: squares(x))}
    assert (rows["number"], rows["batch of one"], rows["symmetry"]) == ("2", "4", "equal, op by op")
    assert rows["told apart by"] == "device /gpu:k" and "difference" not in rows
    rows = {row["what"]: row["is"] for row in of(lambda x, tower: squares(tf.tanh(x) if tower else x))}
    assert rows["symmetry"] == "not equal" and rows["difference"]
