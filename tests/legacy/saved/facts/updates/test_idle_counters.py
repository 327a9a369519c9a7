"""Counters that a learning rate reads, and that the train op raises, an op beside it, or none."""

import pytest
import tensorflow as tf

from legacy.saved.facts.updates.idle_counters import idle_counter_sentences
from legacy.saved.facts.updates.learning_rates import find_learning_rates
from tests.legacy.saved.facts.tower_pages import analysed_step, parts, program, sections_of, squares, watched

v1 = tf.compat.v1


def counted(how):
    """A program whose rate halves with `steps`, which the train op raises, an op of its own, or nothing."""

    def update(pairs):
        steps = v1.get_variable("steps", initializer=0, trainable=False, use_resource=False)
        rate = v1.train.exponential_decay(0.5, steps, 10, 0.5)
        optimizer = v1.train.GradientDescentOptimizer(rate)
        optimizer.apply_gradients(pairs, steps if how == "by the train op" else None, name="train")
        if how == "beside it":
            v1.assign_add(steps, 1, name="count")
        if how == "beside it, as a sum":
            v1.assign(steps, steps + 1, name="count")

    def build():
        x = parts("x", 8, 3)
        return program(lambda tower: squares(x(tower)), update)()

    return build


@pytest.mark.parametrize(
    "how, count", [("by the train op", 0), ("beside it", 1), ("beside it, as a sum", 1), ("by none", 0)]
)
def test_a_counter_that_an_op_beside_the_train_op_raises(how, count):
    step = analysed_step(counted(how))
    found = list(idle_counter_sentences(step, find_learning_rates(step)))
    assert len(found) == count
    for text in found:
        assert "depends on steps, which no train op raises: count does;" in text and text.endswith("--with=count")
        assert text in watched(sections_of(counted(how)))
