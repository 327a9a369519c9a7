"""Programs of one variable, for which made-up data are found."""

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.data_trial import fitting
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
W = [[1.0, -2.0], [0.5, 1.0], [-1.0, 3.0]]


def fitted(make_loss):
    """Plan of a program of one tower, with `make_loss` of its variable, after the trial."""

    def build():
        w = v1.get_variable("w", initializer=W, use_resource=False)
        v1.train.GradientDescentOptimizer(0.1).minimize(make_loss(w), name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "made up")
    for variable in found.plan.variables:
        variable.shape = [3, 2]
    fitting.fit_made_up_data(found.plan, found.context, {"w": np.array(W, "float32")})
    return found.plan


def inputs_of(plan):
    """{input: (its sizes, the least number, the one that all are below)}."""
    return {entry.name: (entry.example, entry.low, entry.limit) for entry in plan.inputs}
