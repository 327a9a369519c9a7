"""Results of bounded functions beside images of the same range, and of another one."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.ranges import examples_of_another_range, targets_out_of_reach
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
SIGMOID, TANH = tf.sigmoid, tf.tanh


def image(scale, dtype=tf.uint8):
    return scale(tf.cast(minimized.fed("x", 8, 4, dtype=dtype), tf.float32))


def unit(x):
    return x / 255.0


def signed(x):
    return x / 127.5 - 1.0


@pytest.mark.parametrize(
    "scale, last, dtype, count",
    [
        (signed, SIGMOID, tf.uint8, 1),
        (signed, SIGMOID, tf.float32, 1),  # divided as bytes are
        (lambda x: x, SIGMOID, tf.uint8, 1),
        (lambda x: x, SIGMOID, tf.float32, 0),  # numbers of a range that no op shows
        (unit, SIGMOID, tf.uint8, 0),
        (signed, TANH, tf.uint8, 0),
        (unit, TANH, tf.uint8, 0),  # a part of what a tanh reaches
        (unit, lambda h: (tf.tanh(h) + 1.0) / 2.0, tf.uint8, 0),
        (signed, lambda h: 2.0 * tf.sigmoid(h) - 1.0, tf.uint8, 0),
        (signed, tf.identity, tf.uint8, 0),
        (lambda x: x / 255.0 - [0.5, 0.4, 0.4, 0.5], SIGMOID, tf.uint8, 0),  # means of channels
    ],
)
def test_targets_that_no_result_reaches_are_named(scale, last, dtype, count):
    def loss():
        x = image(scale, dtype)
        return tf.reduce_mean(tf.square(last(x @ minimized.variable("w", 4, 4)) - x))

    assert minimized.found(targets_out_of_reach, loss) == ["TARGETS_OUT_OF_RANGE"] * count


@pytest.mark.parametrize("scale, count", [(signed, 1), (unit, 0)])
def test_labels_of_a_sigmoid_are_between_0_and_1(scale, count):
    def loss():
        x = image(scale)
        logits = x @ minimized.variable("w", 4, 4)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits))

    assert minimized.found(targets_out_of_reach, loss) == ["TARGETS_OUT_OF_RANGE"] * count


@pytest.mark.parametrize(
    "scale, last, count",
    [(unit, TANH, 1), (signed, SIGMOID, 1), (signed, TANH, 0), (unit, SIGMOID, 0), (unit, tf.identity, 0)],
)
@pytest.mark.parametrize("joins", [False, True])
def test_a_critic_that_takes_examples_of_two_ranges_is_named(scale, last, count, joins):
    def loss():
        real, fake = image(scale), last(minimized.fed("z", 8, 3) @ minimized.variable("g", 3, 4))
        weight = minimized.variable("d", 4, 1)
        if joins:
            first, second = tf.split(tf.concat([real, fake], 0) @ weight, 2)
        else:
            first, second = real @ weight, fake @ weight
        return tf.reduce_mean(tf.nn.softplus(-first) + tf.nn.softplus(second))

    assert minimized.found(examples_of_another_range, loss) == ["EXAMPLES_OF_ANOTHER_RANGE"] * count


def test_a_cell_that_joins_images_with_its_own_state_takes_no_generated_examples():
    def loss():
        weight, state = minimized.variable("w", 6, 2), tf.zeros([8, 2])
        for x in tf.split(image(unit), 2, 1):
            state = tf.tanh(tf.concat([x, state, state], 1) @ weight)
        refined = tf.tanh(image(unit)[:, :2] @ weight[:2])
        return tf.reduce_mean(tf.square(state)) + tf.reduce_mean(tf.square(refined @ weight[:2]))

    assert minimized.found(examples_of_another_range, loss) == []


def test_a_change_of_images_that_a_layer_gives_is_no_error():
    def loss():
        x = image(signed)
        changed = x - 0.1 * tf.tanh(x @ minimized.variable("g", 4, 4))
        return tf.reduce_mean(tf.square(changed @ minimized.variable("w", 4, 3)))

    assert minimized.found(targets_out_of_reach, loss) == []


def test_examples_of_a_little_larger_range_are_no_hazard():
    def loss():
        x = image(lambda x: x)
        generated = 150.0 * tf.tanh(unit(x) @ minimized.variable("g", 4, 4)) + 127.5  # as in transfer of style
        weight = minimized.variable("w", 4, 3)
        return tf.reduce_mean(tf.square(generated @ weight - x @ weight))

    assert minimized.found(examples_of_another_range, loss) == []
