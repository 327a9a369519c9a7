"""The number of a tower's examples along another dimension than the first."""

import functools

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.tower_batch import batch_of_tower, examples_of_tower
from tests.legacy.saved.facts.tower_pages import analysed_step, program, squares, variable

v1 = tf.compat.v1


def steps(x):
    """The loss of a sequence of five steps, the time first."""
    return sum(squares(x[time]) for time in range(5))


def sliced():
    x = v1.placeholder(tf.float32, [5, 8, 3], "x")
    return lambda tower: steps(x[:, 4 * tower : 4 * tower + 4])


def own():
    first, second = (v1.placeholder(tf.float32, [5, None, 3], name) for name in "ab")
    return lambda tower: steps((first, second)[tower])


def read_whole():
    first, second = (v1.placeholder(tf.float32, [5, None, 3], name) for name in "ab")
    return lambda tower: squares(tf.reshape((first, second)[tower], [-1, 3]))


def exchanged(dimensions):
    """Sequences that each tower transposes, as those that its program feeds with the time first."""

    def inputs():
        first, second = (v1.placeholder(tf.float32, [5, None, 3], name) for name in "ab")
        return lambda tower: squares(tf.reshape(tf.transpose((first, second)[tower], dimensions), [-1, 3]))

    return inputs


def with_targets(shape):
    """Sequences that each tower transposes, as `tf.nn.dynamic_rnn` does, with targets of its own."""

    def inputs():
        sequences = [v1.placeholder(tf.float32, [5, None, 3], name) for name in "ab"]
        targets = [v1.placeholder(tf.float32, shape, name) for name in ("at", "bt")]

        def loss(tower):
            turned = tf.transpose(sequences[tower], [1, 0, 2])
            return squares(tf.reshape(turned, [-1, 3])) + squares(tf.reshape(targets[tower], [-1, 3]))

        return loss

    return inputs


def split_in_rows():
    """Batches of ten sequences of any length, of which a split gives each tower five."""
    parts = tf.split(v1.placeholder(tf.float32, [10, None, 3], "x"), 2)
    return lambda tower: squares(tf.reshape(tf.transpose(parts[tower], [1, 0, 2]), [-1, 3]))


@pytest.mark.parametrize(
    "inputs, text, number",
    [
        (sliced, "4, along dimension 1 of x", 4),
        (own, "any, along dimension 1 of a", None),
        (exchanged([1, 0, 2]), "any, along dimension 1 of a", None),
        (exchanged([0, 2, 1]), "5", 5),
        (read_whole, "5", 5),  # sequences of any length
        (with_targets([5, 3]), "5", 5),  # sequences of any length, transposed by the layer
        (with_targets([5, None, 3]), "any, along dimension 1 of a", None),
        (split_in_rows, "5", 5),
    ],
)
def test_steps_of_a_sequence_are_no_examples(inputs, text, number):
    analysed = analysed_step(lambda: program(inputs())())
    assert (batch_of_tower(analysed), examples_of_tower(analysed)) == (text, number)


def reshaped(sizes, copied=False):
    """Images that the program feeds as rows, in any number, and each tower reshapes."""

    def inputs():
        parts = [v1.placeholder(tf.float32, [None, 6], name) for name in "ab"]
        parts = [tf.identity(part) for part in parts] if copied else parts
        return lambda tower: squares(tf.reshape(tf.reshape(parts[tower], sizes), [-1, 3]))

    return inputs


@pytest.mark.parametrize(
    "inputs, text, number",
    [
        (reshaped([4, 2, 3]), "4, by the sizes of a reshape", 4),
        (reshaped([4, 2, 3], copied=True), "4, by the sizes of a reshape", 4),
        (reshaped([8, 3]), "4, by the sizes of a reshape", 4),
        (reshaped([-1, 2, 3]), "its inputs take any", None),
    ],
)
def test_a_reshape_to_constant_sizes_tells_the_examples(inputs, text, number):
    analysed = analysed_step(lambda: program(inputs())())
    assert batch_of_tower(analysed) == text and examples_of_tower(analysed) == number


def reshaped_layer(layer, sizes):
    """Images of any number, of which each tower reshapes what a layer makes."""

    def inputs():
        parts = [v1.placeholder(tf.float32, [None, 4, 4, 3], name) for name in "ab"]
        return lambda tower: squares(tf.reshape(tf.reshape(layer(parts[tower]), sizes), [-1, 3]))

    return inputs


def convolved(x, stride=1):
    weight = tf.ones([1, 1, 3, 3])
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(255.0 * x, weight, stride, "SAME"), tf.ones([3])))


def joined(x):
    red, green, blue = tf.split(x, 3, 3)
    return tf.concat([blue - 103.9, green, red], 3)


def normalized(x, columns=48):
    """Batch normalization of rows, as contrib's fused one: as images of one pixel, in a branch."""
    images = tf.reshape(variable("scale", 3) * x, [-1, 1, 1, columns])
    one, zero = tf.ones([columns]), tf.zeros([columns])
    batch_norm = functools.partial(tf.raw_ops.FusedBatchNorm, scale=one, offset=zero, mean=zero[:0], variance=zero[:0])
    training = v1.placeholder_with_default(True, [])
    merged = v1.cond(training, lambda: batch_norm(x=images).y, lambda: 2.0 * images)
    return tf.reshape(merged, tf.shape(x))


@pytest.mark.parametrize(
    "layer, sizes, text, number",
    [
        (normalized, [8, 4, 3], "2, by the sizes of a reshape", 2),
        (lambda x: normalized(x, 12), [8, 4, 3], "its inputs take any", None),  # four rows of each example
        (convolved, [8, 4, 3], "2, by the sizes of a reshape", 2),
        (lambda x: tf.nn.max_pool2d(convolved(x), 2, 2, "SAME"), [2, 2, 3], "1, by the sizes of a reshape", 1),
        (lambda x: convolved(joined(x)), [4, 4, 3], "1, by the sizes of a reshape", 1),
        (lambda x: x[:, :, :2], [8, 3], "1, by the sizes of a reshape", 1),
        (lambda x: tf.nn.relu(x)[:2], [8, 4, 3], "its inputs take any", None),  # some examples
        (lambda x: tf.transpose(x, [1, 0, 2, 3]), [8, 4, 3], "its inputs take any", None),
        (lambda x: tf.concat([x, x], 0), [8, 4, 3], "its inputs take any", None),
        (lambda x: tf.reduce_max(x, 0), [4, 4, 3], "its inputs take any", None),
        (convolved, [-1, 4, 3], "its inputs take any", None),
    ],
)
def test_a_reshape_of_a_layer_to_constant_sizes_tells_the_examples(layer, sizes, text, number):
    analysed = analysed_step(lambda: program(reshaped_layer(layer, sizes)())())
    assert batch_of_tower(analysed) == text and examples_of_tower(analysed) == number


def sliced_first(take):
    """Words of any number of examples, of which each tower takes some, and masks of all of them."""

    def inputs():
        words = [v1.placeholder(tf.int32, [None, 6], name) for name in "ab"]

        def loss(tower):
            longest = tf.reduce_max(tf.reduce_sum(tf.cast(tf.cast(words[tower], tf.bool), tf.int32), 1))
            return sum(squares(tf.gather(variable("table", 9, 3), part)) for part in take(words[tower], longest))

        return loss

    return inputs


@pytest.mark.parametrize(
    "take, text",
    [
        (lambda x, longest: [tf.slice(x, [0, 0], [4, longest])], "4, by the old graph's slices; its inputs take any"),
        (lambda x, longest: [x[:4]], "4"),
        (lambda x, longest: [x[:, :longest]], "its inputs take any"),
        (lambda x, longest: [x[:4], x[4:]], "its inputs take any"),
        (lambda x, longest: [x[:4], x], "its inputs take any"),
    ],
)
def test_a_slice_of_the_first_rows_alone_tells_the_examples(take, text):
    assert batch_of_tower(analysed_step(lambda: program(sliced_first(take)())())) == text
