"""Towers of a loop that opens neither devices nor name scopes, known by their backward passes."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.labelling.own_gradients import gradient_scopes, labellings_by_gradients
from legacy.saved.tower_search.search import find_towers
from tests.legacy.saved.graphs import graph_of, traced

v1 = tf.compat.v1


def layer(x, w):
    for _ in range(3):
        x = tf.tanh(tf.matmul(x, w))
    return x


def program(losses_of):
    """A program whose weight is normalized once; the gradients of each loss that `losses_of` makes are averaged."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[3, 3], dtype=tf.float32, name="w")
        value = tf.identity(w)
        normed = value / tf.sqrt(tf.reduce_sum(value * value))
        x = v1.placeholder(tf.float32, [4, 3], "x")
        gradients = [tf.gradients(loss, [value])[0] for loss in losses_of(x, normed)]
        mean = tf.reduce_mean(tf.stack(gradients), 0) if len(gradients) > 1 else gradients[0]
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.clip_by_value(mean, -1.0, 1.0), name="train")

    return build


def of_each_part(x, w):
    for part in tf.split(x, 2):
        yield tf.reduce_sum(layer(part, w))


def of_the_sum(x, w):
    yield tf.add_n(list(of_each_part(x, w)))


def of_two_heads(x, w):
    shared = layer(x, w)
    return [tf.reduce_sum(shared[:, :1]), tf.reduce_sum(shared[:, 1:2])]


def of_two_kinds(x, w):
    one, two = tf.split(x, 2)
    return [tf.reduce_sum(layer(one, w)), tf.reduce_mean(tf.square(layer(tf.reverse(two, [1]), w) - two))]


def of_two_targets(x, w):
    for part, target in zip(tf.split(x, 2), (1.0, 0.0)):
        yield tf.reduce_sum(tf.square(layer(part, w) - target))


def towers_of(losses_of):
    graph = traced(program(losses_of))
    return graph, find_towers(graph, ImportedGraph(graph), ["w"], [graph.inputs("train")[2]], ["w"])


def test_each_part_with_a_backward_pass_of_its_own_is_a_tower():
    graph, towers = towers_of(of_each_part)
    assert (towers.count, towers.found_by) == (2, "backward passes of their own")
    products = [name for name in graph.nodes if graph.type(name) == "MatMul" and "gradients" not in name]
    assert [towers.tower_of(name) for name in products] == [0, 0, 0, 1, 1, 1]
    assert towers.tower_of("truediv") is None and towers.is_shared("Mean")  # the normalization is of no tower


@pytest.mark.parametrize("losses_of", [of_the_sum, of_two_heads, of_two_kinds, of_two_targets])
def test_other_losses_are_one_tower(losses_of):
    """A sum has one backward pass, heads share layers, and real and generated examples have different targets."""
    assert towers_of(losses_of)[1].count == 1


def towers_of_workers(names, shape=(3, 3)):
    """The towers of a server that gets the mean of workers' gradients, which each take by the variable of its name."""

    def build():
        variables = {
            name: tf.raw_ops.VariableV2(shape=[3, 3] if name == "w" else shape, dtype=tf.float32, name=name)
            for name in dict.fromkeys(["w", *names])
        }
        gradients = []
        for number, name in enumerate(names):
            value = tf.identity(variables[name])
            x = v1.placeholder(tf.float32, [4, 3], f"x{number}")
            (gradient,) = tf.gradients(tf.reduce_mean(layer(x, tf.reshape(value, [3, 3]))), [value])
            gradients.append(tf.reshape(gradient, [3, 3]))
        mean = tf.reduce_mean(tf.stack(gradients), 0)
        tf.raw_ops.ApplyGradientDescent(var=variables["w"], alpha=0.5, delta=mean, name="train")

    graph = traced(build)
    return find_towers(graph, ImportedGraph(graph), ["w", *names], [graph.inputs("train")[2]], ["w"])


def test_workers_that_compute_from_copies_of_a_servers_weights_are_towers():
    towers = towers_of_workers(["copy", "other_copy", "third_copy"])
    assert (towers.count, towers.found_by) == (3, "backward passes of their own")


@pytest.mark.parametrize(
    "names, shape",
    [
        (["copy", "other_copy"], (9,)),  # variables of other shapes are no copies
        (["w", "copy"], (3, 3)),  # one part trains the weights, and the other is another network
    ],
)
def test_parts_with_variables_of_another_kind_are_one_tower(names, shape):
    assert towers_of_workers(names, shape).count == 1


def test_weights_that_join_passes_in_different_orders_tell_nothing():
    text = """
        a = Placeholder()
        b = Placeholder()
        gradients/Fill = Fill(a)
        gradients_1/Fill = Fill(b)
        gradients/a_grad/one = Mul(gradients/Fill, a)
        gradients/a_grad/two = Mul(gradients/Fill, a)
        gradients_1/b_grad/one = Mul(gradients_1/Fill, b)
        gradients_1/b_grad/two = Mul(gradients_1/Fill, b)
        first = AddN(gradients/a_grad/one, gradients_1/b_grad/one)
        second = AddN({})
    """
    orders = ["gradients/a_grad/two, gradients_1/b_grad/two", "gradients_1/b_grad/two, gradients/a_grad/two"]
    same, other = (graph_of(text.format(order)) for order in orders)
    assert gradient_scopes(same) == ["gradients/", "gradients_1/"]
    updates = [same.inputs("first")[0]._replace(node=name) for name in ("first", "second")]
    (found,) = labellings_by_gradients(same, updates)
    assert found.labels["a"] == 0 and found.labels["b"] == 1 and "first" not in found.labels
    assert not list(labellings_by_gradients(other, updates))
