"""Last outputs of loops with lengths and of backward loops, beside final states and outputs at the right places."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.sequences import counted_padding, last_outputs
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(take, lengths=False, check=last_outputs, make_loss=lambda taken: tf.reduce_mean(tf.square(taken))):
    """The hazards of what is taken of the outputs [batch, time, 3] of a loop, which writes 0 behind each length.

    `lengths`: whether there are any; "size" if they are all that of the data.
    """

    def build():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        times = tf.transpose(v1.placeholder(tf.float32, [2, None, 3], "x"), [1, 0, 2])
        ends = tf.fill([2], tf.shape(times)[0]) if lengths == "size" else v1.placeholder(tf.int32, [2], "lengths")
        inputs = v1.TensorArray(tf.float32, 6).unstack(times)

        def step(time, state, outputs):
            new = tf.tanh(tf.matmul(state + inputs.read(time), w))
            kept = v1.where(time >= ends, tf.zeros([2, 3]), new) if lengths else new
            return time + 1, new, outputs.write(time, kept)

        start = (0, tf.zeros([2, 3]), v1.TensorArray(tf.float32, 6))
        _, state, outputs = tf.while_loop(lambda time, *_: time < 6, step, start)
        loss = make_loss(take(tf.transpose(outputs.stack(), [1, 0, 2]), state))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def test_the_last_output_of_a_loop_with_lengths_is_named():
    assert found(lambda outputs, state: outputs[:, -1], lengths=True) == ["LAST_OUTPUT_OF_PADDING"]
    assert found(lambda outputs, state: outputs[:, -1, :], lengths=True) == ["LAST_OUTPUT_OF_PADDING"]


def test_the_last_output_of_a_backward_loop_is_named():
    assert found(lambda outputs, state: tf.reverse(outputs, [1])[:, -1]) == ["LAST_OUTPUT_OF_BACKWARD"]
    joined = lambda outputs, state: tf.concat([outputs, tf.reverse(outputs, [1])], 2)[:, -1]  # noqa: E731
    assert found(joined) == ["LAST_OUTPUT_OF_BACKWARD"]


@pytest.mark.parametrize(
    "take, lengths",
    [
        (lambda outputs, state: outputs[:, -1], False),
        (lambda outputs, state: outputs[:, -1], "size"),
        (lambda outputs, state: state, True),
        (lambda outputs, state: tf.reduce_max(outputs, 1), True),
        (lambda outputs, state: tf.reverse(outputs, [1])[:, 0], False),
        (lambda outputs, state: outputs[:, :, -1], True),
    ],
)
def test_final_states_and_other_outputs_are_not(take, lengths):
    assert found(take, lengths) == []


def logits(outputs, state):
    return tf.reshape(tf.reshape(outputs, [12, 3]) @ v1.get_variable("v", [3, 5], use_resource=False), [2, 6, 5])


def entropies(taken):
    labels = v1.placeholder(tf.int32, [2, 6], "y")
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=taken)


def masked(taken):
    mask = tf.sequence_mask(v1.placeholder(tf.int32, [2], "n"), 6, tf.float32)
    return tf.reduce_sum(entropies(taken) * mask) / tf.reduce_sum(mask)


def of_codes(taken):
    labels = v1.placeholder(tf.float32, [2, 6, 5], "y")
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=taken))


def score(outputs, state):
    """A number for each position, as of the words that an answer may begin with."""
    w = v1.get_variable("v", [3, 1], use_resource=False)
    return tf.reshape(tf.reshape(outputs, [12, 3]) @ w, [2, 6, 1])


def first_word(taken):
    """The cross entropy of one position of each example; padding has no share."""
    padding = 1.0 - tf.sequence_mask(v1.placeholder(tf.int32, [2], "n"), 6, tf.float32)
    masked_scores = tf.squeeze(taken, 2) - 1e30 * padding
    places = v1.placeholder(tf.int32, [2], "place")
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=places, logits=masked_scores))


def of_both_directions():
    """Results of dropout on the outputs of two directions, as a tagger has them."""

    def taken(outputs, state):
        both = tf.concat([outputs, tf.reverse_sequence(outputs, tf.constant([6, 6]), 1)], 2)
        both = both / 0.5 * tf.cast(tf.random.uniform([2, 6, 6]) >= 0.5, tf.float32)
        w = v1.get_variable("v", [6, 5], use_resource=False)
        return tf.reshape(tf.matmul(tf.reshape(both, [-1, 6]), w), [2, 6, 5])

    return taken


@pytest.mark.parametrize(
    "take, lengths, make_loss, count",
    [
        (logits, True, lambda taken: tf.reduce_mean(entropies(taken)), 1),
        (logits, True, lambda taken: 0.5 * tf.reduce_mean(tf.square(taken - 1.0)), 1),
        (logits, False, lambda taken: tf.reduce_mean(entropies(taken)), 0),
        (logits, "size", lambda taken: tf.reduce_mean(entropies(taken)), 0),
        (of_both_directions(), True, lambda taken: tf.reduce_mean(entropies(taken)), 1),
        (of_both_directions(), False, lambda taken: tf.reduce_mean(entropies(taken)), 0),
        (of_both_directions(), True, masked, 0),
        (logits, True, masked, 0),
        (logits, True, of_codes, 0),
        (score, True, first_word, 0),
        (score, True, lambda taken: tf.reduce_mean(tf.square(tf.squeeze(taken, 2))), 1),
        (logits, True, lambda taken: tf.reduce_sum(entropies(taken)), 0),
        (lambda outputs, state: state, True, lambda taken: tf.reduce_mean(tf.square(taken)), 0),
        (logits, True, lambda taken: tf.reduce_mean(tf.square(tf.reduce_max(taken, 1))), 0),
    ],
)
def test_means_over_the_padding_of_a_loop_with_lengths_are_named(take, lengths, make_loss, count):
    assert found(take, lengths, counted_padding, make_loss) == ["PADDING_COUNTED"] * count


def decoded(ends_at, masks):
    """The hazards of the mean over the outputs of a loop that runs until `ends_at(time, lengths, state)` for all."""

    def build():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        inputs = v1.TensorArray(tf.float32, 6).unstack(v1.placeholder(tf.float32, [6, 2, 3], "x"))
        lengths = v1.placeholder(tf.int32, [2], "lengths")

        def step(time, state, outputs, finished):
            state = tf.tanh(tf.matmul(state + inputs.read(time), w))
            ended = ends_at(time + 1, lengths, state)
            return time + 1, state, outputs.write(time, state), tf.logical_or(ended, finished)

        first = tf.zeros([2, 3]), v1.TensorArray(tf.float32, 0, dynamic_size=True), tf.equal(lengths, 0)
        going_on = lambda *held: tf.logical_not(tf.reduce_all(held[-1]))  # noqa: E731
        outputs = tf.transpose(tf.while_loop(going_on, step, (0, *first))[2].stack(), [1, 0, 2])
        losses = tf.reduce_sum(tf.square(outputs - 1.0), 2) if masks else tf.square(outputs - 1.0)
        mask = tf.sequence_mask(lengths, 6, tf.float32)
        loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask) if masks else tf.reduce_mean(losses)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in counted_padding(whole)]


@pytest.mark.parametrize(
    "ends_at, masks, count",
    [
        (lambda time, lengths, state: time >= lengths, False, 1),
        (lambda time, lengths, state: time >= lengths, True, 0),
        (lambda time, lengths, state: time >= tf.constant([6, 6]), False, 0),
        (lambda time, lengths, state: tf.reduce_max(state, 1) > 0.9, False, 0),
    ],
)
def test_means_over_the_padding_of_a_loop_that_ends_with_the_longest_are_named(ends_at, masks, count):
    assert decoded(ends_at, masks) == ["PADDING_COUNTED"] * count
