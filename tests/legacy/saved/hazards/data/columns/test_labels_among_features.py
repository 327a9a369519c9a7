"""Labels that are columns of the features, beside rows that a program compares with its results on purpose."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.data.columns.labels_among_features import labels_among_features
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1


def layer(name, x, size):
    return x @ variable(name, x.shape[1], size)


def net(x, outputs=1):
    return layer("out", tf.nn.relu(layer("hidden", x, 4)), outputs)


def error(prediction, target):
    return tf.reduce_mean(tf.square(prediction - target))


def count(loss):
    """How many labels among features are named in a loss of rows of six columns."""
    hazards = found_by_analysis(labels_among_features, lambda: loss(fed("rows", 8, 6)))
    assert set(hazards) <= {"LABEL_AMONG_FEATURES"}
    return len(hazards)


@pytest.mark.parametrize(
    "features, label",
    [
        (lambda rows: rows, lambda rows: rows[:, 5:]),
        (lambda rows: rows[:, 1:], lambda rows: rows[..., -1:]),
        (lambda rows: rows[:, :5], lambda rows: tf.expand_dims(rows[:, 4], 1)),
        (lambda rows: (rows - 2.0) / 4.0, lambda rows: tf.slice(rows, [0, 5], [-1, 1])),
        (lambda rows: tf.concat([rows[:, :2], rows[:, 4:]], 1), lambda rows: tf.reshape(rows[:, 4], [-1, 1])),
        (lambda rows: tf.stack([rows[:, 0], rows[:, 5]], 1), lambda rows: tf.split(rows, [5, 1], 1)[1]),
    ],
)
def test_a_label_that_the_first_layer_takes_is_named(features, label):
    assert count(lambda rows: error(net(features(rows)), label(rows))) == 1


@pytest.mark.parametrize(
    "features, label",
    [
        (lambda rows: rows[:, :5], lambda rows: rows[:, 5:]),
        (lambda rows: rows[:, 1:], lambda rows: rows[:, :1]),
        (lambda rows: rows * [1.0, 1.0, 1.0, 1.0, 1.0, 0.0], lambda rows: rows[:, 5:]),
        (lambda rows: tf.concat([rows[:, :2], rows[:, 3:]], 1), lambda rows: rows[:, 2:3]),
        (lambda rows: tf.split(rows, [5, 1], 1)[0], lambda rows: tf.split(rows, [5, 1], 1)[1]),
        (lambda rows: rows[:4], lambda rows: rows[4:, 5:]),
    ],
)
def test_a_label_that_is_left_out_is_not(features, label):
    assert count(lambda rows: error(net(features(rows)), label(rows))) == 0


@pytest.mark.parametrize("is_feature, hazards", [(True, 1), (False, 0)])
def test_classes_may_be_a_column(is_feature, hazards):
    def loss(rows):
        logits = net(rows if is_feature else rows[:, :5], 3)
        classes = tf.one_hot(tf.cast(rows[:, 5], tf.int32), 3)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=classes, logits=logits))

    assert count(loss) == hazards


def test_an_autoencoder_compares_all_columns():
    def by_columns(rows):
        results = net(rows, 6)
        return tf.add_n([error(results[:, place], rows[:, place]) for place in range(6)])

    assert count(lambda rows: error(net(rows, 6), rows)) == 0
    assert count(by_columns) == 0
    assert count(lambda rows: error(net(rows, 2), rows[:, 4:])) == 0


def test_a_feature_may_be_a_second_target():
    """As of an adversary, or of a penalty of the change since the last value."""

    def loss(rows):
        result = net(rows[:, :5])
        return error(result, rows[:, 5:]) + 0.1 * error(result, rows[:, 4:5])

    def of_hinge(rows):
        result = net(rows[:, :5])
        return tf.reduce_mean(tf.maximum(1.0 - rows[:, 5:] * result, 0.0)) + 0.1 * error(result, rows[:, 4:5])

    assert count(loss) == 0
    assert count(of_hinge) == 0


def test_codes_that_are_drawn_may_take_what_they_give_again():
    def loss(rows):
        code = layer("code", rows, 2)
        return error(layer("decoder", code + v1.random_normal([8, 2]), 1), rows[:, 5:])

    assert count(loss) == 0


def test_masked_weights_may_leave_the_label_out():
    def loss(rows):
        mask = tf.constant([[1.0]] * 5 + [[0.0]])
        return error(layer("out", rows @ (variable("hidden", 6, 4) * mask), 1), rows[:, 5:])

    assert count(loss) == 0


def test_products_in_a_branch_that_the_analysed_graph_takes_apart_are_passed():
    def loss(rows):
        is_training, w = v1.placeholder_with_default(False, [], "is_training"), variable("w", 6)
        return v1.cond(is_training, lambda: tf.reduce_sum(w**2 * rows), lambda: tf.reduce_sum(w**2))

    assert count(loss) == 0
