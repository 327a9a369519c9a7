"""Sentences on variables that hold a step's examples."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.inputs.fed_variables import fed_variable_sentences
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def kept(name, *shape):
    """A variable by reference that is not trained."""
    return v1.get_variable(name, shape, trainable=False, use_resource=False)


def sentences(examples):
    """Sentences of a step that trains w on what `examples` makes."""

    def build():
        w = v1.get_variable("w", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        loss = tf.reduce_mean(tf.square(tf.matmul(examples(), w)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "m", ["train"])
    return list(fed_variable_sentences(AnalysedStep(found)))


def test_a_batch_that_a_variable_hands_on_is_named():
    """As of a pipeline of several devices that feeds each one's variables with the results of the one before."""
    assert sentences(lambda: kept("last/x", 4, 3)) == [
        "no loss depends on an input, but on last/x, which no op changes: if the program fed it, as feed_dict feeds "
        "any tensor, that was its data, and a lift trains on its value in the checkpoint instead"
    ]


def assigned():
    """A variable that another run fills."""
    batch = kept("x", 4, 3)
    batch.assign(v1.placeholder(tf.float32, [4, 3], "next"), name="fill")
    return batch


@pytest.mark.parametrize(
    "examples",
    [
        lambda: v1.placeholder(tf.float32, [4, 3], "x") + kept("noise", 3),
        assigned,
        lambda: tf.ones([4, 3]) * kept("factor"),
        lambda: tf.matmul(tf.ones([4, 2]), kept("pretrained", 2, 3)),
    ],
    ids=["an input besides", "another run fills it", "a scalar", "a layer that was loaded"],
)
def test_others_are_not(examples):
    assert sentences(examples) == []
