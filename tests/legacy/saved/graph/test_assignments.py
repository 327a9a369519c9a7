"""Tests of the variables that ops write."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.graph.assignments import written_variables
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def test_updates_are_found_and_initializers_and_restores_are_not() -> None:
    def build() -> None:
        weight = v1.Variable([1.0, 2.0], use_resource=False, name="w")
        v1.assign_sub(weight, [0.5, 0.5], name="train")
        v1.train.Saver([weight])

    assert written_variables(traced(build)) == {"train": "w"}
