"""Labels that a model makes, or that are all of one class, and logits that dropout makes, each beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.labels import (
    dropped_logits,
    dropped_results,
    exchanged_labels,
    labels_of_one_class,
    means_over_classes,
    weights_by_appearance,
)
from legacy.saved.hazards.losses.logits import activated_logits
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def whole_of(loss, names=("w",)):
    """A program of one tower that minimizes loss(x, y, w)."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x, y = v1.placeholder(tf.float32, [2, 4], "x"), v1.placeholder(tf.float32, [2, 3], "y")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x, y, w), name="train")

    return WholeGraph(saved(traced(build), trainable_variables=list(names)))


def softmax(labels, logits):
    return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))


def sigmoid(labels, logits):
    return tf.reduce_mean(v1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def same(x):
    return x


def dropout(x):
    """As `tf.nn.dropout` of 1.x writes it."""
    return tf.multiply(x / 0.5, tf.floor(0.5 + v1.random_uniform(x.shape), name="dropout/Floor"), name="dropout/mul")


@pytest.mark.parametrize("entropy", [softmax, sigmoid])
def test_labels_that_the_model_makes_are_named(entropy):
    assert not list(exchanged_labels(whole_of(lambda x, y, w: entropy(y, x @ w))))
    (hazard,) = exchanged_labels(whole_of(lambda x, y, w: entropy(x @ w, y)))
    assert hazard.id == "LABELS_FOR_LOGITS" and "y:0, which no trained" in hazard.description


def test_labels_of_a_model_for_its_own_logits_are_not():
    assert not list(exchanged_labels(whole_of(lambda x, y, w: softmax(tf.nn.softmax(x @ w), x @ w))))


@pytest.mark.parametrize(
    "labels, logits, count",
    [
        (tf.nn.softmax, lambda y: y, 0),  # a divergence from a prior
        (tf.nn.softmax, lambda y: tf.one_hot(tf.argmax(y, 1), 3), 1),
        (tf.identity, lambda y: y, 1),
    ],
)
def test_shares_of_a_model_beside_the_logits_of_a_prior_are_not(labels, logits, count):
    whole = whole_of(lambda x, y, w: softmax(labels(x @ w), logits(y)))
    assert [hazard.id for hazard in exchanged_labels(whole)] == ["LABELS_FOR_LOGITS"] * count


@pytest.mark.parametrize("drop_last", [True, False])
def test_logits_that_dropout_makes_are_named(drop_last):
    def loss(x, y, w):
        return softmax(y, dropout(x @ w) if drop_last else dropout(x) @ w)

    assert [hazard.id for hazard in dropped_logits(whole_of(loss))] == ["LOGITS_DROPPED"] * drop_last


@pytest.mark.parametrize("activation, count", [(tf.sigmoid, 1), (tf.identity, 0), (tf.nn.relu, 1)])
def test_logits_of_a_sigmoid_that_an_activation_made_are_named(activation, count):
    found = list(activated_logits(whole_of(lambda x, y, w: sigmoid(y, activation(x @ w)))))
    assert [hazard.id for hazard in found] == ["LOGITS_ACTIVATED"] * count


@pytest.mark.parametrize("label", [1.0, 0.9])
@pytest.mark.parametrize("fake, trained, count", [("ones", "w", 1), ("zeros", "w", 0), ("ones", "g", 0)])
def test_a_discriminator_that_is_taught_one_class_is_named(fake, trained, count, label):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        g = v1.get_variable("g", [4, 4], use_resource=False)
        x = v1.placeholder(tf.float32, [2, 4], "x")
        real, made = x @ w, (x @ g) @ w
        loss = sigmoid(label * tf.ones_like(real), real) + sigmoid(label * getattr(tf, fake + "_like")(made), made)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w if trained == "w" else g], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "g"]))
    assert [hazard.id for hazard in labels_of_one_class(whole)] == ["LABELS_OF_ONE_CLASS"] * count


@pytest.mark.parametrize("second, count", [(tf.zeros, 1), (tf.ones, 0), (lambda shape: None, 0)])
def test_domains_that_all_have_one_label_are_named(second, count):
    def build():
        logits = v1.placeholder(tf.float32, [4, 4], "x") @ v1.get_variable("w", [4, 1], use_resource=False)
        others = second([2, 1])
        labels = tf.zeros([4, 1]) if others is None else tf.concat([tf.zeros([2, 1]), others], 0)
        v1.train.GradientDescentOptimizer(0.5).minimize(sigmoid(labels, logits), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in labels_of_one_class(whole)] == ["LABELS_OF_ONE_CLASS"] * count


@pytest.mark.parametrize("drawn_label, count", [(tf.ones_like, 1), (tf.zeros_like, 0)])
def test_words_that_are_drawn_with_the_label_of_those_that_follow_are_named(drawn_label, count):
    def build():
        table, w = (v1.get_variable(name, [20, 4], use_resource=False) for name in ("table", "w"))
        words, follow = v1.placeholder(tf.int64, [8], "words"), v1.placeholder(tf.int64, [8, 1], "follow")
        drawn, _, _ = tf.random.log_uniform_candidate_sampler(follow, 1, 5, True, 20)
        rows = tf.gather(table, words)
        real = tf.reduce_sum(rows * tf.gather(w, follow[:, 0]), 1)
        others = tf.matmul(rows, tf.gather(w, drawn), transpose_b=True)
        loss = sigmoid(tf.ones_like(real), real) + sigmoid(drawn_label(others), others)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["table", "w"]))
    assert [hazard.id for hazard in labels_of_one_class(whole)] == ["LABELS_OF_ONE_CLASS"] * count


@pytest.mark.parametrize("is_compared, count", [(True, 0), (False, 1)])
def test_the_better_ones_of_pairs_all_have_the_label_one(is_compared, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        good, bad, worse = (v1.placeholder(tf.float32, [2, 4], name) @ w for name in ("good", "bad", "worse"))
        logits = [good - bad, good - worse] if is_compared else [good, bad]
        loss = tf.add_n([sigmoid(tf.ones_like(one), one) for one in logits])
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in labels_of_one_class(whole)] == ["LABELS_OF_ONE_CLASS"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda y, logits: -tf.reduce_mean(y * tf.nn.log_softmax(logits)), 1),
        (lambda y, logits: tf.reduce_mean(-y * tf.math.log(tf.nn.softmax(logits) + 1e-8)), 1),
        (lambda y, logits: tf.reduce_mean(-(y * tf.math.log(tf.maximum(tf.nn.softmax(logits), 1e-8)))), 1),
        (lambda y, logits: -tf.reduce_mean(tf.reduce_sum(y * tf.nn.log_softmax(logits), 1)), 0),
        (lambda y, logits: -tf.reduce_sum(y * tf.nn.log_softmax(logits)), 0),
        (lambda y, logits: -tf.reduce_mean(tf.reduce_mean(y * tf.nn.log_softmax(logits), 0)), 0),
        (lambda y, logits: -tf.reduce_mean(y * tf.math.log_sigmoid(logits)), 0),  # each class by itself
    ],
)
def test_a_mean_that_also_runs_over_the_classes_is_named(loss, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        y = tf.one_hot(v1.placeholder(tf.int32, [8], "y"), 3)
        total = loss(y, v1.placeholder(tf.float32, [8, 4], "x") @ w)
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    found = list(means_over_classes(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in found] == ["MEAN_OVER_CLASSES"] * count
    assert all("1/3 of the cross entropy" in hazard.description for hazard in found)


@pytest.mark.parametrize("others, count", [("ones", 1), ("zeros", 0)])
def test_products_of_looked_up_rows_that_are_taught_one_class_are_named(others, count):
    def build():
        rows = [v1.get_variable(name, [9, 4], use_resource=False) for name in ("inner", "outer")]
        word, near, far = (v1.placeholder(tf.int32, [8], name) for name in ("word", "near", "far"))
        inner = tf.gather(rows[0], word)
        right, wrong = (tf.reduce_sum(inner * tf.gather(rows[1], given), 1) for given in (near, far))
        loss = sigmoid(tf.ones_like(right), right) + sigmoid(getattr(tf, others + "_like")(wrong), wrong)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["inner", "outer"]))
    assert [hazard.id for hazard in labels_of_one_class(whole)] == ["LABELS_OF_ONE_CLASS"] * count


def counted(labels):
    return tf.unique_with_counts(labels)


@pytest.mark.parametrize(
    "weights, expected",
    [
        (lambda labels: counted(labels).count, True),
        (lambda labels: tf.math.bincount(labels, minlength=3), False),
        (lambda labels: tf.scatter_nd(counted(labels).y[:, None], counted(labels).count, [3]), False),
        (lambda labels: tf.gather(counted(labels).count, counted(labels).idx)[:, None], False),  # one for each example
        (lambda labels: counted(tf.nn.top_k(labels, 2).values).count, False),
    ],
)
def test_weights_of_classes_by_their_first_appearance_are_named(weights, expected):
    def loss(x, y, w):
        labels = tf.argmax(y, 1, output_type=tf.int32)
        shares = tf.cast(weights(labels), tf.float32)
        inverse = 1.0 / tf.math.log(shares / tf.reduce_sum(shares) + 1.02)
        each = tf.reduce_sum(tf.one_hot(labels, 3) * inverse, 1)
        costs = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(x, w))
        return tf.reduce_mean(costs * each)

    found = [hazard[0] for hazard in weights_by_appearance(whole_of(loss))]
    assert found == ["WEIGHTS_BY_APPEARANCE"] * expected


@pytest.mark.parametrize(
    "result, target, count",
    [
        (lambda h: dropout(h), lambda h: minimized.fed("y", 8, 3), 1),
        (lambda h: dropout(h) @ minimized.variable("v", 3, 3), lambda h: minimized.fed("y", 8, 3), 0),
        (lambda h: dropout(h), lambda h: dropout(h), 0),  # two views of one example
        (lambda h: h, lambda h: minimized.fed("y", 8, 3), 0),
    ],
)
def test_a_result_of_which_dropout_sets_a_part_to_0_is_named(result, target, count):
    def loss():
        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        return tf.reduce_mean(tf.math.squared_difference(result(hidden), target(hidden)))

    assert minimized.found(dropped_results, loss) == ["RESULT_DROPPED"] * count


@pytest.mark.parametrize("head, count", [(lambda difference: difference @ minimized.variable("v", 4, 2), 0), (same, 1)])
def test_a_connection_around_a_dropped_layer_is_no_error(head, count):
    def loss():
        x = minimized.fed("x", 8, 4)
        return tf.reduce_mean(tf.square(head(x - dropout(x @ minimized.variable("w", 4, 4)))))

    assert minimized.found(dropped_results, loss) == ["RESULT_DROPPED"] * count
