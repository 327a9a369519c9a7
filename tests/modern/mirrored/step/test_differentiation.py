import pytest
import tensorflow as tf

from modern.mirrored.step.differentiation import gradients_by_graph, gradients_by_tape


@pytest.mark.parametrize("differentiate", [gradients_by_graph, gradients_by_tape])
def test_gradients_of_a_polynomial(differentiate):
    @tf.function
    def run(a, b, unused):
        return differentiate(lambda: a * a * b, {"a": a, "b": b, "unused": unused})

    loss, gradients = run(tf.constant(3.0), tf.constant(0.5), tf.constant([1.0, 2.0]))
    assert float(loss) == 4.5
    assert (float(gradients["a"]), float(gradients["b"])) == (3.0, 9.0)
    assert gradients["unused"].numpy().tolist() == [0.0, 0.0]  # the loss does not depend on it


@pytest.mark.parametrize("differentiate", [gradients_by_graph, gradients_by_tape])
def test_the_rows_of_an_embedding_become_a_dense_gradient(differentiate):
    @tf.function
    def run(table):
        return differentiate(lambda: tf.reduce_sum(tf.gather(table, [2, 0, 2])), {"table": table})

    assert run(tf.zeros([4, 1]))[1]["table"].numpy().tolist() == [[1.0], [0.0], [2.0], [0.0]]


def test_where_layers_are_on_several_devices_gradients_are_beside_their_layer():
    with tf.Graph().as_default() as graph:
        weight = tf.compat.v1.placeholder(tf.float32, [], "weight")

        def loss():
            with tf.device("/device:CPU:3"):
                return tf.exp(weight)

        gradients_by_graph(loss, {"weight": weight}, ("/device:CPU:3",))
        devices = {op.device for op in graph.get_operations() if op.name.startswith("gradients") and op.type == "Mul"}
    assert devices == {"/device:CPU:3"}
