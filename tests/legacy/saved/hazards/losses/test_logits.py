"""Logits that an activation made, each with a twin whose loss takes what the activation takes."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.logits import (
    activated_logits,
    labels_that_do_not_add_up,
    shares_over_examples,
    shares_over_pixels,
    softmax_over_examples,
)
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable
from tests.legacy.saved.hazards.two_towers import hazards

v1 = tf.compat.v1


def sparse(logits):
    return v1.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=logits, name="loss")


def dense(logits):
    return v1.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot([0, 1], 3), logits=logits, name="loss")


def written(logits):
    """The cross entropy of softmax and logarithm, without an op of its own."""
    return -tf.reduce_sum(tf.one_hot([0, 1], 3) * tf.math.log(tf.nn.softmax(logits) + 1e-8), 1, name="loss")


def found(activation, cross_entropy):
    """The hazards of a program of one tower."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        logits = tf.matmul(v1.placeholder(tf.float32, [2, 4], "x"), w)
        loss = tf.reduce_mean(cross_entropy(tf.reshape(activation(logits), [2, 3])))
        tf.argmax(tf.nn.relu(logits), 1)  # an activation that the loss does not take
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return list(activated_logits(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


@pytest.mark.parametrize("cross_entropy", [sparse, dense])
@pytest.mark.parametrize(
    "activation, kind", [(tf.nn.relu, "Relu"), (tf.nn.softmax, "Softmax"), (tf.sigmoid, "Sigmoid"), (tf.tanh, "Tanh")]
)
def test_logits_that_an_activation_made_are_named(activation, kind, cross_entropy):
    (hazard,) = found(activation, cross_entropy)
    assert hazard.id == "LOGITS_ACTIVATED" and f"{kind} ({kind}) gives for logits: " in hazard.description


@pytest.mark.parametrize("activation, count", [(tf.sigmoid, 1), (tf.identity, 0)])
def test_activated_logits_of_a_weighted_cross_entropy_are_named(activation, count):
    def weighted(logits):
        return tf.nn.weighted_cross_entropy_with_logits(tf.ones([2, 3]) * fed("z", 2, 1), logits, 3.0)

    assert [hazard.id for hazard in found(activation, weighted)] == ["LOGITS_ACTIVATED"] * count


def as_ones(logits):
    """Times ones, as a distribution does with its parameters, of the shape of what it gives the probability of."""
    return logits * tf.ones_like(fed("actions", None, 1))


@pytest.mark.parametrize("cross_entropy", [sparse, dense])
def test_logits_that_a_distribution_multiplies_by_ones_are_named(cross_entropy):
    """As of `Categorical(probabilities)`, whose first argument is logits."""
    (hazard,) = found(lambda logits: as_ones(tf.nn.softmax(logits)), cross_entropy)
    assert hazard.id == "LOGITS_ACTIVATED" and "Softmax (Softmax) gives for logits: " in hazard.description


@pytest.mark.parametrize(
    "logits", [as_ones, lambda logits: tf.nn.relu(logits) * fed("weights", None, 1), lambda x: 2.0 * tf.nn.relu(x)]
)
def test_products_of_other_logits_are_not(logits):
    assert found(logits, sparse) == []


def test_logits_that_are_a_multiple_of_a_bounded_number_are_not():
    """As where an agent's logits are clipped at -10 and 10 without an edge."""
    assert not found(lambda logits: 10.0 * tf.tanh(logits), sparse)


@pytest.mark.parametrize("activation, kind", [(tf.nn.relu, "Relu"), (tf.sigmoid, "Sigmoid")])
def test_logits_of_a_written_softmax_are_named(activation, kind):
    (hazard,) = found(activation, written)
    assert hazard.id == "LOGITS_ACTIVATED" and f"{kind} ({kind}) gives for logits: " in hazard.description


@pytest.mark.parametrize("cross_entropy", [sparse, dense, written])
@pytest.mark.parametrize("other", [tf.identity, lambda logits: tf.nn.relu(logits) - 1.0])
def test_other_logits_are_not(other, cross_entropy):
    assert found(other, cross_entropy) == []


#: A layer whose output is transposed before the softmax; what is trained depends on it.
LAYER = """
    x = Placeholder()
    v = VariableV2()
    w = VariableV2()
    read = Identity(w)
    layer = MatMul(x, read)
    logits = Add(layer, v)
    turned = Transpose(logits)
    shares = Softmax(turned)
    gradients/shares_grad/Mul = Mul(shares, x)
    train = ApplyGradientDescent(w, gradients/shares_grad/Mul)
    """


def test_probabilities_that_add_up_over_the_examples_are_named():
    (found,) = hazards(softmax_over_examples, LAYER)
    assert found[:2] == ("SOFTMAX_OVER_EXAMPLES", "shares") and "over the rows of layer, the examples" in found[2]
    flat = LAYER.replace("Softmax(turned)", "Softmax(flat)\n    flat = Reshape(turned)")  # as 1.x does for any rank
    assert len(hazards(softmax_over_examples, flat)) == 1


@pytest.mark.parametrize(
    "old, new",
    [
        ("Softmax(turned)", "Softmax(logits)"),
        ("Transpose(logits)", "Transpose(other)\n    other = Reshape(logits)"),  # weights of a sequence's times
        ("MatMul(x, read)", "MatMul(x, x)"),  # similarities of data
        ("gradients/shares_grad/Mul = Mul(shares, x)", "gradients/shares_grad/Mul = Mul(logits, x)"),  # evaluation
    ],
)
def test_other_softmaxes_are_not_accused(old, new):
    assert hazards(softmax_over_examples, LAYER.replace(old, new)) == []


@pytest.mark.parametrize(
    "smoothed, total",
    [
        (lambda one_hot: one_hot(0.9, 0.05), None),
        (lambda one_hot: one_hot(0.9, 0.1), "1.1"),  # K = 3: 0.9 + 2 * 0.1
        (lambda one_hot: 0.9 * one_hot(1.0, 0.0) + 0.1 / 3.0, None),
        (lambda one_hot: one_hot(1.0, 0.0) * 0.9 + 0.1 / 2.0, "1.05"),  # by the number of examples
        (lambda one_hot: one_hot(1.0, 0.0) / 2.0, "0.5"),
    ],
)
def test_smoothed_labels_that_do_not_add_up_to_one_are_named(smoothed, total):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        logits = tf.matmul(v1.placeholder(tf.float32, [2, 4], "x"), w)
        labels = smoothed(lambda on, off: tf.one_hot(v1.placeholder(tf.int32, [2], "y"), 3, on, off))
        loss = tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    found = [hazard.description for hazard in labels_that_do_not_add_up(whole)]
    assert len(found) == (total is not None) and all(f"add up to {total}, and not to 1" in text for text in found)


@pytest.mark.parametrize("axis, size, count", [(0, 3, 1), (1, 3, 0), (0, None, 0)])
def test_shares_over_the_examples_are_named(axis, size, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [2, size, 4], "x")
        scores = tf.squeeze(tf.tensordot(x, w, 1), 2)
        turned = tf.transpose(scores, [1, 0])  # as 1.x does for axis=0
        shares = tf.transpose(tf.nn.softmax(turned), [1, 0]) if axis == 0 else tf.nn.softmax(scores)
        loss = tf.reduce_mean(tf.square(tf.reduce_sum(x * tf.expand_dims(shares, 2), 1)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test")
    ids = [hazard.id for hazard in shares_over_examples(WholeGraph(graph, found), found)]
    assert ids == ["SOFTMAX_OVER_EXAMPLES"] * count


@pytest.mark.parametrize("activation, count", [(tf.nn.softmax, 1), (tf.identity, 0)])
def test_a_loss_of_sequences_computes_a_softmax_too(activation, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        logits = tf.reshape(activation(v1.placeholder(tf.float32, [10, 4], "x") @ w), [5, 2, 3])
        targets = tf.SparseTensor([[0, 0], [1, 0]], [0, 1], [2, 1])
        loss = tf.reduce_mean(v1.nn.ctc_loss(targets, logits, [5, 5]))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    hazards_found = list(activated_logits(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
    assert [(hazard.id, "(Softmax)" in hazard.description) for hazard in hazards_found] == [
        ("LOGITS_ACTIVATED", True)
    ] * count


@pytest.mark.parametrize("enlarged", [False, True])
@pytest.mark.parametrize("axis, channels, count", [(1, 3, 1), (2, 3, 1), (3, 3, 0), (1, 1, 0)])
def test_shares_over_the_height_or_width_of_images_are_named(axis, channels, count, enlarged):
    """A map of one channel, such as of attention, may be shared out over its pixels."""

    def build():
        kernel = v1.get_variable("kernel", [3, 3, 2, channels], use_resource=False)
        images = tf.nn.conv2d(v1.placeholder(tf.float32, [2, 4, 6, 2], "x"), kernel, 1, "SAME")
        images = v1.image.resize_bilinear(images, [8, 12]) if enlarged else images
        turn = [0, 1, 2, 3]
        turn[axis], turn[3] = turn[3], turn[axis]  # as 1.x does for another axis than the last
        shares = tf.nn.softmax(tf.transpose(images, turn) if axis != 3 else images)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares)), name="train")

    graph = saved(traced(build), trainable_variables=["kernel"])
    analysis = analyse_graph(graph, "made-for-a-test")
    ids = [hazard.id for hazard in shares_over_pixels(WholeGraph(graph, analysis), analysis)]
    assert ids == ["SOFTMAX_OVER_PIXELS"] * count


@pytest.mark.parametrize("shares, count", [(lambda x: tf.nn.softmax(tf.nn.softmax(x)), 1), (tf.nn.softmax, 0)])
def test_a_softmax_of_a_softmax_is_named(shares, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        wrong = tf.square(shares(v1.placeholder(tf.float32, [2, 4], "x") @ w) - 1.0)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(wrong), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in activated_logits(whole)] == ["LOGITS_ACTIVATED"] * count


@pytest.mark.parametrize("size, count", [(24, 0), (6, 1)])
def test_shares_over_all_pixels_of_a_channel_are_not_named(size, count):
    """As of the mean place of each channel."""

    def build():
        kernel = v1.get_variable("kernel", [3, 3, 2, 5], use_resource=False)
        images = tf.nn.conv2d(v1.placeholder(tf.float32, [2, 4, 6, 2], "x"), kernel, 1, "SAME")
        shares = tf.nn.softmax(tf.reshape(tf.transpose(images, [0, 3, 1, 2]), [-1, size]))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares)), name="train")

    graph = saved(traced(build), trainable_variables=["kernel"])
    analysis = analyse_graph(graph, "made-for-a-test")
    hazards_found = list(shares_over_pixels(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in hazards_found] == ["SOFTMAX_OVER_PIXELS"] * count


@pytest.mark.parametrize(
    "pooled, count",
    [
        (lambda shares, x: tf.reduce_sum(shares * x, 0), 0),
        (lambda shares, x: tf.matmul(shares, x, transpose_a=True), 0),
        (lambda shares, x: tf.matmul(tf.transpose(shares), x), 0),
        (lambda shares, x: tf.reduce_sum(shares * x, 1), 1),
        (lambda shares, x: tf.matmul(shares, x[:1]), 1),
    ],
)
def test_shares_of_rows_that_are_pooled_are_not_named(pooled, count):
    """As of the instances of one bag, which are the rows that a tower takes."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [6, 4], "x")
        shares = tf.transpose(tf.nn.softmax(tf.transpose(x @ w)))  # as 1.x does for axis=0
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(pooled(shares, x))), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in softmax_over_examples(whole)] == ["SOFTMAX_OVER_EXAMPLES"] * count


@pytest.mark.parametrize("off, by_hand, total", [(0.1 / 4, False, 1.025), (0.1 / 5, False, 0), (0.1 / 4, True, 1.025)])
def test_smoothed_labels_that_are_mixed_with_others_add_up_to_the_same(off, by_hand, total):
    def loss():
        labels = tf.one_hot(fed("labels", 8, dtype=tf.int32), 5) * 0.9 + off
        share = v1.random_uniform([8, 1])
        mixed = share * labels + (1.0 - share) * tf.reverse(labels, [0])
        logits = fed("x", 8, 4) @ variable("w", 4, 5)
        if by_hand:
            return -tf.reduce_mean(tf.reduce_sum(mixed * tf.nn.log_softmax(logits), 1))
        return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(labels=mixed, logits=logits))

    descriptions = [one.description for one in labels_that_do_not_add_up(WholeGraph(minimizing(loss)))]
    assert len(descriptions) == bool(total) and all(f"add up to {total}" in text for text in descriptions)


def compared(shares, x):
    return tf.square(shares - fed("labels", 2, 3))


def attended(shares, x):
    return tf.square(tf.reduce_sum(shares * x[:, :3], 1) - fed("labels", 2))


def taught(shares, x):
    return tf.square(shares - tf.nn.softmax(x @ variable("v", 4, 3)))


@pytest.mark.parametrize(
    "activation, error, count",
    [
        (tf.tanh, compared, 1),
        (tf.nn.relu, compared, 1),
        (tf.identity, compared, 0),
        (lambda logits: 5.0 * tf.tanh(logits), compared, 0),
        (tf.tanh, attended, 0),
        (tf.tanh, taught, 0),
    ],
)
def test_a_softmax_of_an_activation_that_is_compared_with_data_is_named(activation, error, count):
    """Shares of attention may be those of a tanh, and so may those that two nets agree on."""

    def total():
        x = fed("x", 2, 4)
        return tf.reduce_mean(error(tf.reshape(tf.nn.softmax(activation(x @ variable("w", 4, 3))), [2, 3]), x))

    ids = [hazard.id for hazard in activated_logits(WholeGraph(minimizing(total)))]
    assert ids == ["LOGITS_ACTIVATED"] * count
