"""A program of two towers that minimizes one function of their losses."""

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def minimized(total, of_tower=tf.reduce_mean):
    """The analysed step that minimizes `total(losses)` of the losses that `of_tower` makes of each tower's results."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        made = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                made.append(of_tower(tf.sigmoid(x * w), name="loss"))
        v1.train.GradientDescentOptimizer(0.5).minimize(total(made), name="train")

    return AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
