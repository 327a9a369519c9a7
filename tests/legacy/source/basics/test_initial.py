import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.initial import slot_starts
from tests.legacy.saved.graphs import traced
from tests.legacy.source.tiny import plan_of
from workloads.lifted.plan import Variable

v1 = tf.compat.v1


@pytest.mark.parametrize("start, expected", [(0.25, 0.25), (None, 0.5)])
def test_a_slot_starts_from_its_initializer_whatever_training_made_of_it(start, expected):
    """Without a constant initializer, the least of its values at hand is the nearest to where it started."""

    def build():
        fill = v1.constant_initializer(start) if start else v1.random_uniform_initializer(0.1, 0.2)
        v1.get_variable("w/Adagrad", [2], initializer=fill, use_resource=False)

    plan = plan_of({})
    plan.variables.append(Variable("w/Adagrad", [2], "float32", "slot", of="w"))
    trained = {"w/Adagrad": np.array([0.75, 0.5], np.float32)}
    assert slot_starts(traced(build), plan, trained) == {"w/Adagrad": expected}
