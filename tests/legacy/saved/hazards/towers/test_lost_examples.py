"""Examples of a tower whose gradients are lost, which another tower trains on or none does."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.towers.lost_examples import examples_text
from legacy.saved.hazards.towers.shared import unused_gradients
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
TRAINED, LOST = "its examples are those of tower 0, which trains on them", "its examples train nothing"


def described(part):
    """What is said of tower 1's examples, where tower i takes `part(x, i)` and tower 0 alone trains."""

    def build():
        x, gradients = v1.placeholder(tf.float32, [4, 3], "x"), []
        w = v1.get_variable("w", [3, 3], use_resource=False)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(tf.matmul(part(x, tower), w)))
                gradients.append(optimizer.compute_gradients(loss))
        optimizer.apply_gradients(gradients[0], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    whole = WholeGraph(graph, analyse_graph(graph, "small", ["train"]))
    (found,) = unused_gradients(whole)
    backward = {tower: whole.backward(tower) for tower in whole.towers()}
    assert found.description.endswith(examples_text(whole, backward, 1, [1]))
    return found.description.rpartition(": ")[2]


@pytest.mark.parametrize(
    "part, expected",
    [
        (lambda x, tower: x, TRAINED),
        (lambda x, tower: tf.reshape(x, [2, 2, 3])[:, 0], TRAINED),
        (lambda x, tower: x[2 * tower : 2 * tower + 2], LOST),
        (lambda x, tower: tf.split(x, 2)[tower], LOST),
        (lambda x, tower: tf.gather(x, [tower]), LOST),
        (lambda x, tower: tf.stack([x, -x])[tower], LOST),
        (lambda x, tower: v1.placeholder(tf.float32, [4, 3]), LOST),
    ],
)
def test_examples_are_trained_on_where_another_tower_computes_the_same_of_them(part, expected):
    assert described(part) == expected
