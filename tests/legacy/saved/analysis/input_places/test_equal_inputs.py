"""Inputs that towers compute twice from the same data."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis, analyse_graph
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def analysed(part, waits=False) -> Analysis:
    """Two towers, each with two losses of its part of `x`, computed by `part(x, y, tower, use)`.

    Args:
      part: returns the data of a loss.
      waits: whether the second loss's data wait for an update.
    """

    def build():
        x, y = v1.placeholder(tf.float32, [4, 3], "x"), v1.placeholder(tf.float32, [4, 3], "y")
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False), []
        seen = v1.get_variable("seen", initializer=0.0, use_resource=False, trainable=False)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                first = part(x, y, tower, 0)
                with v1.control_dependencies([v1.assign_add(seen, 1.0)] if waits else []):
                    second = part(x, y, tower, 1)
                loss = tf.reduce_sum(tf.sigmoid(first * w)) + tf.reduce_sum(tf.tanh(second * w))
                gradients += tf.gradients(loss, w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    return analyse_graph(saved(traced(build), trainable_variables=["w"]), "m")


def inputs_of(found: Analysis) -> list[str]:
    """The names of the inputs of a lift."""
    return [entry.name for entry in found.plan.inputs]


@pytest.mark.parametrize(
    "part",
    [
        lambda x, y, tower, use: tf.split(x, 2)[tower],
        lambda x, y, tower, use: x[tower],
        lambda x, y, tower, use: tf.split(x / 255.0, 2)[tower],
        lambda x, y, tower, use: x[tower * (tf.shape(x)[0] // 2) : (tower + 1) * (tf.shape(x)[0] // 2)],
        lambda x, y, tower, use: tf.concat([x, y], 0)[tower],
    ],
)
def test_what_is_computed_again_from_the_same_data_is_one_input(part):
    found = analysed(part)
    assert len(inputs_of(found)) == 1
    assert not [note for note in found.plan.notes if "made-up batches" in note]


@pytest.mark.parametrize(
    "part",
    [
        lambda x, y, tower, use: x[(tower, 2 + tower)[use]],
        lambda x, y, tower, use: tf.split((x, y)[use], 2)[tower],
        lambda x, y, tower, use: tf.split(x / (255.0, 127.5)[use], 2)[tower],
        lambda x, y, tower, use: tf.split(v1.placeholder_with_default(x, [4, 3]), 2)[tower],
    ],
)
def test_other_rows_data_and_constants_are_inputs_of_their_own(part):
    assert len(inputs_of(analysed(part))) > 1


def test_an_input_that_waits_for_an_update_stays_with_it():
    found = analysed(lambda x, y, tower, use: tf.split(x, 2)[tower], waits=True)
    assert len(inputs_of(found)) > 1
    assert "seen" in {name for effect in found.plan.phases[0].effects for name in effect.writes}
