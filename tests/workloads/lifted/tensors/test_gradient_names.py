import doctest

import pytest

from tests.legacy.saved.graphs import graph_of
from workloads.lifted.tensors import gradient_names


@pytest.mark.parametrize(
    "root, scope",
    [
        ("gradients/Fill", "gradients/"),
        ("tower_0/gradients_1/grad_ys_0", "tower_0/gradients_1/"),
        ("gradients/ones_like_2", "gradients/"),
        ("gradients/Const_1", "gradients/"),
    ],
)
def test_a_gradient_graph_starts_at_its_root(root, scope):
    assert gradient_names.gradient_scope(root) == scope


@pytest.mark.parametrize("name", ["gradients/Shape", "my_gradients/Fill", "Fill", "gradients/loss_grad/Fill"])
def test_other_nodes_are_no_roots(name):
    assert gradient_names.gradient_scope(name) is None


@pytest.mark.parametrize(
    "name, forward",
    [
        ("gradients/a/conv_grad/Reshape", "a/conv"),
        ("tower_0/gradients_3/tower_0/loss_grad/mul_1", "tower_0/loss"),
        ("gradients/AddN_2", None),
        ("a/conv_grad/Reshape", None),
    ],
)
def test_a_gradient_op_names_its_forward_op(name, forward):
    assert gradient_names.forward_name(name) == forward


@pytest.mark.parametrize(
    "name, forward",
    [
        ("gradients/gradients/conv_grad/Reshape", "conv"),  # in a scope of the program's that has this name, too
        ("a/gradients/gradients_1/a/mul_grad/Mul", "a/mul"),
        ("gradients_1/gradients/conv_grad/Mul_grad/Mul", "gradients/conv_grad/Mul"),  # a gradient's own gradient
        ("gradients/gradients/other_grad/Reshape", "gradients/other"),
    ],
)
def test_the_nodes_tell_where_the_scope_of_a_gradient_graph_ends(name, forward):
    nodes = ["conv", "a/mul", "gradients/conv_grad/Mul"]
    assert gradient_names.forward_name(name, nodes) == forward


def test_a_forward_op_is_named_in_its_own_gradient_scope_only():
    assert gradient_names.forward_name_in("gradients/loss_grad/mul", "gradients/") == "loss"
    assert gradient_names.forward_name_in("gradients/loss_grad/mul", "gradients_1/") is None


def test_only_ops_of_a_gradient_function_are_gradient_ops():
    assert gradient_names.is_gradient_op("gradients/conv_grad/Reshape")
    assert not gradient_names.is_gradient_op("gradients/AddN") and not gradient_names.is_gradient_op("conv_grad")


def test_a_name_scope_of_the_program_may_end_as_gradient_ops_do():
    """As "Train_grad", in which a helper casts and scales a loss before it is differentiated there."""
    assert gradient_names.is_gradient_op("Train_grad/gradients/Mean_grad/Reshape")
    assert not any(map(gradient_names.is_gradient_op, ["Train_grad/gradients/Shape", "Train_grad/mul"]))


def test_the_scope_of_a_gradient_graph_may_have_another_name():
    assert gradient_names.is_gradient_op("grads_0/tower_0/conv_grad/Reshape")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(gradient_names).failed == 0


@pytest.mark.parametrize(
    "nodes, forward",
    [
        (["copy/train/loss"], "copy/train/loss"),
        (["train/loss", "copy/train/loss"], "train/loss"),
        ([], "train/loss"),
    ],
)
def test_a_gradient_op_of_a_graph_that_was_imported_into_a_scope(nodes, forward):
    name = "copy/train/gradients/train/loss_grad/mul"
    assert gradient_names.forward_name_in(name, "copy/train/gradients/", nodes) == forward


def test_a_scope_with_the_name_of_a_node_is_no_gradient_graph():
    """As that of `tf.summary.histogram("w/gradients", ...)`; `tf.gradients` makes no node of its scope's name."""
    own = ["w/gradients", "w/gradients/tag", "w/gradients/values"]
    assert gradient_names.in_gradient_graphs([*own, "gradients/w/mul_grad/Mul"]) == {"gradients/w/mul_grad/Mul"}
    assert gradient_names.in_gradient_graphs(own[1:]) == {*own[1:]}
    inside = ["gradients/w/gradients", "gradients/w/gradients/tag"]
    assert gradient_names.in_gradient_graphs(inside) == {*inside}, "in a scope of tf.gradients"


def test_variables_in_a_scope_of_that_name_are_no_gradients():
    """As sums of gradients by the names of their weights, and their mean by a sum's own name."""
    graph = graph_of("""
        w = VariableV2()
        gradients/w = VariableV2()
        gradients/w/read = Identity(gradients/w)
        train/gradients/w = Mul(gradients/w/read, gradients/w/read)
        loss = Neg(w)
        train/gradients/Fill = Fill(loss)
        train/gradients/loss_grad/Neg = Neg(train/gradients/Fill)
        train/gradients/joined = Add(gradients/w/read, train/gradients/loss_grad/Neg)
        """)
    made = {"Fill", "loss_grad/Neg", "joined"}
    assert gradient_names.gradient_nodes(graph) == {f"train/gradients/{name}" for name in made}


def test_what_a_program_computes_in_a_scope_of_that_name_without_variables_stays_there():
    graph = graph_of("w = VariableV2()\ngradients/half = Neg(w)\ngradients/loss_grad/Neg = Neg(gradients/half)\n")
    assert gradient_names.gradient_nodes(graph) == {"gradients/half", "gradients/loss_grad/Neg"}
