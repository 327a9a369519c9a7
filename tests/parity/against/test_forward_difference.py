"""The first op that differs, by values, on graphs of a few ops."""

import numpy as np
import pytest
import tensorflow as tf

from parity.against.forward_difference import (
    CLOSE,
    ForwardDifference,
    find_forward_difference,
    matching_tensors,
)
from parity.against.forward_values import ForwardOp, ForwardPass
from workloads.lifted.graph import Graph

X = np.float32([1, -2, 3])


def port(*ops):
    """A forward pass of (name, inputs, value), each made by a function of its own; the last is the loss."""
    made = [
        ForwardOp(
            name, name.title(), f"port.py:{i}, in {name}", tuple(f"{other}:0" for other in inputs), (f"{name}:0",)
        )
        for i, (name, inputs, _) in enumerate(ops)
    ]
    return ForwardPass(made, {f"{name}:0": np.float32(value) for name, _, value in ops}, f"{ops[-1][0]}:0")


@pytest.fixture(scope="module")
def graph():
    """relu(2 x), of which the mean is the loss; a reshape lies between."""
    with tf.Graph().as_default() as made:
        x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
        doubled = tf.reshape(tf.multiply(x, 2.0, name="doubled"), [1, 3], name="shaped")
        tf.reduce_mean(tf.nn.relu(doubled, name="relu"), name="loss")
    return Graph(made.as_graph_def())


OLD = {
    "x:0": X,
    "doubled:0": 2 * X,
    "shaped:0": 2 * X[None],
    "relu:0": np.float32([[2, 0, 6]]),
    "loss:0": np.float32(8 / 3),
}


def test_the_first_op_that_has_the_inputs_but_not_the_result_is_named(graph):
    elu = [2, -0.98, 6]
    found = find_forward_difference(
        port(("twice", [], 2 * X), ("elu", ["twice"], elu), ("mean", ["elu"], 2.34)), OLD, graph
    )
    assert found == ForwardDifference("elu", "Elu", "port.py:1, in elu", ("doubled:0",), ("relu (Relu)",))
    assert found.sentence() == (
        "the forward passes diverge at port.py:1, in elu: Elu from doubled:0 of the old graph; "
        "the old graph goes on with relu (Relu)"
    )
    assert found.to_json()["place"] == "port.py:1, in elu"
    assert found.where == "Elu at port.py:1, in elu" and found._replace(inputs=()).where == ""


def test_another_way_to_the_same_numbers_is_no_difference(graph):
    steps = port(("odd", [], [9, 8, 7]), ("relu", ["odd"], [2, 0, 6]), ("mean", ["relu"], 8 / 3))
    assert find_forward_difference(steps, OLD, graph) is None
    wrong = port(("odd", [], [9, 8, 7]), ("relu", ["odd"], [2, 0, 6]), ("sum", ["relu"], 8))
    assert find_forward_difference(wrong, OLD, graph).op == "sum"


def test_an_op_without_known_inputs_is_named_by_its_place(graph):
    found = find_forward_difference(port(("odd", [], [9, 8, 7]), ("mean", ["odd"], 8)), OLD, graph)
    assert found.sentence() == "the forward passes diverge at port.py:0, in odd: Odd"


def test_arithmetic_of_shapes_is_no_difference(graph):
    """A softmax over another axis computes a permutation first, of the rank alone."""
    steps = port(("rank", ["x"], 7), ("last", ["rank"], 5), ("turned", ["x", "last"], X[::-1]), ("sum", ["turned"], 8))
    steps = steps._replace(values={**steps.values, "x:0": X}, given=frozenset(["x:0"]))
    assert find_forward_difference(steps, OLD, graph).op == "turned"


def test_an_op_of_the_same_kind_is_compared_by_its_attributes_and_constants(graph):
    with tf.Graph().as_default() as made:
        x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
        tf.nn.leaky_relu(tf.add(x, 0.25, name="added"), alpha=0.25, name="leaky")
    old = {"x:0": X, "added:0": X + np.float32(0.25), "leaky:0": np.float32([1.25, -0.4375, 3.25])}
    of_attribute = find_forward_difference(
        port_of([("leaky", "LeakyRelu", ["x"], [9, 8, 7], {"alpha": "0.5"})], {"x": old["added:0"]}),
        old,
        Graph(made.as_graph_def()),
    )
    assert of_attribute.otherwise == ("alpha is 0.5 in the port and 0.25 in the old graph",)
    of_constant = find_forward_difference(
        port_of([("sum", "AddV2", ["x", "c"], [9, 8, 7], {})], {"x": X, "c": np.float32(0.5)}, given=["x"]),
        old,
        Graph(made.as_graph_def()),
    )
    assert of_constant.sentence().endswith("its constant is 0.5 in the port and 0.25 in the old graph")
    same = port_of([("sum", "AddV2", ["x", "c"], [9, 8, 7], {})], {"x": X, "c": np.float32(0.25)}, given=["x"])
    assert find_forward_difference(same, old, Graph(made.as_graph_def())).otherwise == ()


def port_of(ops, values, given=()):
    """A forward pass of (name, kind, inputs, value, attributes), with values of what no op makes."""
    made = [
        ForwardOp(name, kind, "port.py:1, in f", tuple(f"{i}:0" for i in inputs), (f"{name}:0",), attributes)
        for name, kind, inputs, _, attributes in ops
    ]
    values = {f"{name}:0": value for name, value in values.items()}
    values.update({f"{name}:0": np.float32(value) for name, _, _, value, _ in ops})
    return ForwardPass(made, values, f"{ops[-1][0]}:0", frozenset(f"{name}:0" for name in given))


def test_a_loss_to_which_the_old_graph_adds_something_is_named(graph):
    steps = port(("doubled", [], 2 * X), ("relu", ["doubled"], [2, 0, 6]), ("mean", ["relu"], 8 / 3))
    old = {**OLD, "total:0": np.float32(3.5)}
    found = find_forward_difference(steps, old, graph, old_loss="total:0")
    assert found.sentence() == "the port's loss, made at port.py:2, in mean, is loss:0 of the old graph"
    assert find_forward_difference(steps, OLD, graph, old_loss="loss:0") is None
    alike = {**OLD, "total:0": np.float32(8 / 3)}  # another tensor that holds the loss
    assert find_forward_difference(steps, alike, graph, old_loss="total:0") is None


def test_ops_outside_of_the_towers_forward_pass_do_not_go_on(graph):
    steps = port(("twice", [], 2 * X), ("elu", ["twice"], [2, -0.98, 6]), ("mean", ["elu"], 2.34))
    old = {name: value for name, value in OLD.items() if name != "relu:0"}
    assert find_forward_difference(steps, old, graph).instead == ()


def test_tensors_match_by_bits_in_any_shape():
    assert matching_tensors({"a": X[:, None]}, OLD) == {"a": "x:0"}
    assert matching_tensors({"a": np.nextafter(X, np.float32(9))}, OLD) == {}
    assert matching_tensors({"a": np.nextafter(X, np.float32(9))}, OLD, CLOSE) == {"a": "x:0"}
    assert matching_tensors({"a": X * np.float32(1 + 3 * CLOSE)}, OLD, CLOSE) == {}
    assert matching_tensors({"a": np.int32(X)}, OLD) == {}


def test_numbers_that_say_nothing_match_nothing():
    old = {"zeros": np.zeros(3), "one": np.float32(1), "half": np.float32(0.5)}
    values = {"zeros": np.zeros(3), "one": np.float32(1), "half": np.float32(0.5), "none": np.zeros(0)}
    assert matching_tensors(values, old) == {"half": "half"}
