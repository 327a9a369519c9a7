import pytest
import tensorflow as tf

from workloads.numerics import gradient_sums

v1 = tf.compat.v1


def three_uses(x):
    return tf.tanh(x) * tf.exp(x) * tf.sin(x)


def a_loop(x):
    return tf.while_loop(lambda turn, y: turn < 3, lambda turn, y: (turn + 1, three_uses(y)), [0, x])[1]


def most_terms(build, really):
    """The largest number of terms of an AddN in the gradient of what `build` makes of a placeholder, loops included."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        with gradient_sums.added_in_order(really):
            v1.gradients(build(x), x)
    graph_def = graph.as_graph_def()
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return max((node.attr["N"].i for node in nodes if node.op == "AddN"), default=0)


@pytest.mark.parametrize("build", [three_uses, a_loop])
def test_parts_are_added_two_at_a_time_also_in_loops(build):
    assert most_terms(build, True) == 2
    assert most_terms(build, False) == 3  # TensorFlow's own order


def test_the_default_comes_back_after_an_error():
    before = tf.AggregationMethod.DEFAULT
    with pytest.raises(ValueError), gradient_sums.added_in_order():
        assert before != tf.AggregationMethod.DEFAULT
        raise ValueError
    assert before == tf.AggregationMethod.DEFAULT
