"""Lifts with other constants."""

import numpy as np
import tensorflow as tf

from tests.small_lift import small_lift
from workloads.lifted.constants import with_constants


def number(workload, name):
    return tf.make_ndarray(workload.graph.nodes[name].attr["value"].tensor).item()


def test_a_constant_gets_another_value_and_the_lift_is_left_alone(tmp_path):
    lift = small_lift(str(tmp_path / "lift"))
    changed = with_constants(lift, {"rate": np.float32(0.5)})
    assert (number(lift, "rate"), number(changed, "rate")) == (0.25, 0.5)
    assert changed.plan is lift.plan


def test_other_nodes_have_no_value(tmp_path):
    lift = small_lift(str(tmp_path / "lift"))
    assert with_constants(lift, {"missing": np.float32(0.5)}) is None
    assert with_constants(lift, {"x0": np.float32(0.5)}) is None
