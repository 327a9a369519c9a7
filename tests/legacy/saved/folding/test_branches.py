"""What takes the place of a decided switch: the numbers that it passes on, or a copy of them that groups gradients."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.folding.branches import Branches
from legacy.saved.folding.decided import decided_predicates
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

#: A branch that uses its numbers `inside` times, beside ops that use them outside.
BRANCH = """
    train = Placeholder()
    x = Placeholder()
    switch = Switch(x, train)
    first = Neg(switch:1)
    second = {second}
    outside = {outside}
"""


def branches(second, outside, dtype=tf.float32):
    text = BRANCH.format(second=second, outside=outside)
    graph = graph_of(text, train={"dtype": tf.bool}, switch={"T": dtype})
    return Branches(graph, decided_predicates(graph, {"train": np.array(True)}))


def test_numbers_that_a_branch_and_others_use_are_copied_for_the_branch():
    found = branches("Abs(switch:1)", "Exp(x)")
    assert found.copies == {"switch/taken": "switch"} and found.final(TensorId("switch", 1)) == ("switch/taken", 0)


@pytest.mark.parametrize(
    "second, outside, dtype",
    [
        ("Abs(x)", "Exp(x)", tf.float32),  # one use in the branch
        ("Abs(switch:1)", "NoOp()", tf.float32),  # none outside
        ("Abs(switch:1)", "Switch(x, train)", tf.float32),  # the other branch's, which never runs
        ("Abs(switch:1)", "Exp(x)", tf.int32),  # without gradients
    ],
)
def test_numbers_whose_gradients_have_one_order_are_not_copied(second, outside, dtype):
    found = branches(second, outside, dtype)
    assert found.copies == {} and found.final(TensorId("switch", 1)) == ("x", 0)
