"""The rows of what is joined with features of inputs that take any number of examples."""

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.joined_rows import rows_of_joined
from legacy.saved.facts.inputs.tower_batch import batch_of_tower
from tests.legacy.saved.facts.tower_pages import analysed_step, program, squares

v1 = tf.compat.v1
ANY = "its inputs take any"


def joined(rows, features=lambda x: x, shape=(None, 3)):
    """A tower's loss of features of its examples beside columns of zeros."""

    def inputs():
        parts = [v1.placeholder(tf.float32, shape, name) for name in "ab"]

        def loss(tower):
            x = features(parts[tower])
            zeros = tf.zeros([tf.shape(x)[0] if rows is None else rows, 2], name="zeros")
            return squares(tf.concat([tf.nn.relu(x), zeros], 1)[:, :3])

        return loss

    return inputs


@pytest.mark.parametrize(
    "inputs, text",
    [
        (joined(4), "4, by the rows of tower_0/zeros"),
        (joined(4, lambda x: tf.unstack(x, axis=1)[1], (None, 5, 3)), "4, by the rows of tower_0/zeros"),
        (joined(1), ANY),  # cannot be but one example; other constants of one row are of no batch
        (joined(None), ANY),
        (joined(4, lambda x: tf.reshape(x, [-1, 3]), (None, 5, 3)), ANY),  # four rows of some examples' five
        (joined(4, lambda x: tf.boolean_mask(x, x[:, 0] > 0.0)), ANY),  # of which some are chosen
        (joined(4, shape=(None, None)), ANY),  # the first dimension may not be that of the examples
    ],
)
def test_zeros_beside_features_tell_the_examples(inputs, text):
    analysed = analysed_step(lambda: program(inputs())())
    assert batch_of_tower(analysed) == text and (rows_of_joined(analysed) is None) == (text == ANY)


@pytest.mark.parametrize("state, text", [(6, "6, by the rows of tower_0/zeros"), (None, ANY)])
def test_the_zero_state_of_a_loop_tells_the_examples(state, text):
    """As of `tf.nn.dynamic_rnn` with `cell.zero_state(batch_size)`; its steps are elements of an array."""

    def inputs():
        v1.disable_control_flow_v2()
        parts = [v1.placeholder(tf.float32, [None, 5, 3], name) for name in "ab"]

        def loss(tower):
            turned = tf.transpose(parts[tower], [1, 0, 2])
            steps = tf.TensorArray(tf.float32, 5).unstack(turned)
            zeros = tf.zeros([tf.shape(turned)[1] if state is None else state, 3], name="zeros")

            def step(time, carried):
                new = tf.reshape(tf.concat([steps.read(time), carried], 1), [-1, 2, 3])
                return time + 1, tf.tanh(new[:, 0] + new[:, 1])

            _, last = tf.while_loop(
                lambda time, _: time < 5,
                step,
                [0, zeros],
                shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
            )
            return squares(last)

        return loss

    assert batch_of_tower(analysed_step(lambda: program(inputs())())) == text
