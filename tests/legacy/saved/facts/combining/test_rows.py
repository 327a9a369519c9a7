"""Rows of the ways in which gradients are combined."""

import pytest
import tensorflow as tf

from legacy.saved.facts.combining.rows import combining_rows
from tests.legacy.saved.facts.tower_pages import analysed_step, parts, program, squares


@pytest.mark.parametrize("all_reduced, ops", [(["total"], "NcclAllReduce, RealDiv"), ([], "AddN, RealDiv")])
def test_a_sum_by_nccl_is_said_to_be_one(all_reduced, ops):
    def build():
        x = parts("x", 8, 3)
        program(lambda tower: squares(x(tower)), combine=lambda row: tf.add_n(list(row), name="total") / 2.0)()

    (row,) = combining_rows(analysed_step(build), all_reduced)
    assert (row["are"], row["by"]) == ("mean", ops)
