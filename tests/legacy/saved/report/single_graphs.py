"""Graphs of which the tests read single nodes, without an analysis."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(update, penalty=False, joined=True, beside=lambda hidden: []):
    """Two towers that train w by their joined loss, or by one each.

    Args:
      update: function from [(gradient, variable)] to the update op.
      penalty: whether losses have a penalty of the weights.
      joined: whether one loss of all towers is differentiated.
      beside: function from the towers' hidden values to what the train op runs besides.
    """

    def build():
        with v1.variable_scope(v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
            make()

    def make():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        losses, hidden = [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                hidden.append(x @ w)
                loss = tf.reduce_mean(tf.square(hidden[-1]), name="error")
                losses.append(tf.add(loss, tf.nn.l2_loss(w, name="decay"), name="loss") if penalty else loss)
        if joined:
            gradient = tf.gradients(tf.add(*losses, name="total"), w)[0]
        else:
            gradient = tf.add_n([tf.gradients(loss, w)[0] for loss in losses]) / 2.0
        tf.group(update([(gradient, w)]), *beside(hidden), name="train")

    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


def descent(rate=lambda: 0.5):
    """Gradient descent at the rate that a function makes."""
    return lambda pairs: v1.train.GradientDescentOptimizer(rate()).apply_gradients(pairs)
