"""Gradient graphs with names of the program's own, as of `tf.gradients(..., name="grads_w")`."""

import pytest
import tensorflow as tf

from legacy.saved.graph.names.gradient_scopes import name_gradient_graphs, renamed_input
from tests.legacy.variants.programs import assert_same, lifted, split_batch, towers

v1 = tf.compat.v1


def loss_of(x):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        w = v1.get_variable("w", [3, 1], use_resource=False, initializer=tf.ones_initializer())
        b = v1.get_variable("b", [1], use_resource=False, initializer=tf.ones_initializer())
    return tf.reduce_mean(tf.square(x @ w + b), name="loss") + 0.1 * tf.nn.l2_loss(w)


def graph_def_of(build):
    with tf.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def differentiated(name, scope=""):
    """A gradient of a loss, in a gradient graph of a name."""

    def build():
        x = v1.placeholder(tf.float32, [4, 3], "x")
        with v1.name_scope(scope or None):
            loss = loss_of(x)
            tf.identity(tf.gradients(loss, v1.trainable_variables(), name=name)[0], name="result")

    return graph_def_of(build)


@pytest.mark.parametrize("scope", ["", "tower_0"])
def test_a_name_of_the_programs_own_gets_the_scope_of_gradients_behind(scope):
    graph_def, begin = differentiated("grads_w", scope), f"{scope}/" if scope else ""
    count = len(graph_def.node)
    renamed = name_gradient_graphs(graph_def)
    assert renamed[f"{begin}grads_w/grad_ys_0"] == f"{begin}grads_w/gradients/grad_ys_0"
    assert renamed_input(f"^{begin}grads_w/grad_ys_0", renamed) == f"^{begin}grads_w/gradients/grad_ys_0"
    assert not any("grads_w/" in node.name and "grads_w/gradients/" not in node.name for node in graph_def.node)
    assert len(graph_def.node) == count
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")  # nothing refers to a node that is no longer there


@pytest.mark.parametrize("name", ["gradients", "gradients_3"])
def test_the_name_that_tensorflow_gives_stays(name):
    graph_def = differentiated(name)
    before = graph_def.SerializeToString(deterministic=True)
    assert name_gradient_graphs(graph_def) == {} and graph_def.SerializeToString(deterministic=True) == before


def test_a_scope_of_the_program_around_stays():
    def build():
        loss = loss_of(v1.placeholder(tf.float32, [4, 3], "x"))
        with tf.name_scope("grads"):
            tf.gradients(loss, v1.trainable_variables())

    assert name_gradient_graphs(graph_def_of(build)) == {}


def test_other_ops_of_such_names_stay():
    def build():
        with tf.name_scope("grads"):
            ones = tf.fill([2], 1.0, name="Fill")
            with tf.name_scope("mask_grad"):
                tf.square(ones)

    assert name_gradient_graphs(graph_def_of(build)) == {}


def in_two_parts():
    """The towers' gradients by weights and by biases, each in a gradient graph of its own name."""
    rows = split_batch()

    def make_loss(tower):
        loss = loss_of(rows[tower])
        w, b = v1.trainable_variables()[:2]
        return [tf.gradients(loss, [w], name="grads_w")[0], tf.gradients(loss, [b], name="grads_b")[0]]

    gradients = [tf.add_n(list(both)) for both in zip(*towers(make_loss))]
    optimizer = v1.train.AdamOptimizer(0.1)
    return optimizer.apply_gradients(list(zip(gradients, v1.trainable_variables())), name="train")


def test_the_losses_of_such_towers_are_found_and_their_port_is_the_same(tmp_path):
    setup = lifted(in_two_parts, tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert phase.losses == ["tower_0/add_1:0", "tower_1/add_1:0"]
    assert_same(setup)
