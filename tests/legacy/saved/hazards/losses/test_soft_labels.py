"""Labels that another network computes, with and without stop_gradient."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.soft_labels import differentiated_labels
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(labels, sigmoid=False):
    """The hazards of a cross entropy of a student's logits with `labels(teacher's logits, student's logits)`."""

    def build():
        w, t = (v1.get_variable(name, [4, 3], use_resource=False) for name in ("student", "teacher"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        function = tf.nn.sigmoid_cross_entropy_with_logits if sigmoid else tf.nn.softmax_cross_entropy_with_logits
        loss = tf.reduce_mean(function(labels=labels(x @ t, x @ w), logits=x @ w)) + tf.reduce_mean(tf.square(x @ t))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["student", "teacher"]))
    return [hazard.id for hazard in differentiated_labels(whole)]


@pytest.mark.parametrize("sigmoid, function", [(False, tf.nn.softmax), (True, tf.sigmoid)])
def test_labels_of_a_teacher_that_the_gradient_reaches_are_named(sigmoid, function):
    expected = ["LABELS_DIFFERENTIATED"]
    if not sigmoid:
        assert found(lambda teacher, student: function(teacher), sigmoid) == expected
    assert found(lambda teacher, student: tf.stop_gradient(function(teacher)), sigmoid) == []


def test_labels_of_the_same_weights_and_of_data_are_not():
    assert found(lambda teacher, student: tf.nn.softmax(student)) == []
    assert found(lambda teacher, student: v1.placeholder(tf.float32, [8, 3], "y")) == []


def test_labels_and_logits_that_are_exchanged_are_no_teacher():
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        y, labels = v1.placeholder(tf.float32, [8, 3], "y"), v1.placeholder(tf.float32, [8, 4], "x") @ w
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=y))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    assert list(differentiated_labels(WholeGraph(saved(traced(build), trainable_variables=["w"])))) == []
