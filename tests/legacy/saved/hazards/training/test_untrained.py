"""Trainable variables that no loss depends on, each with a twin that is left as it is on purpose."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.training.untrained import (
    gradients_of_the_first_alone,
    untrained_layers,
    variables_without_gradient,
    weights_of_zeros,
)
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

#: A loss of one weight; `head` reads another one, which the loss does not take.
STEP = """
    x = Placeholder()
    w = VariableV2()
    v = VariableV2()
    y = Mul(x, w)
    head = Mul(y, v)
    loss = Sum(y)
    gradients/Fill = Const()
    gradients/loss_grad/Tile = Tile(gradients/Fill)
    gradients/y_grad/Mul = Mul(gradients/loss_grad/Tile, x)
    train = ApplyGradientDescent(w, rate, gradients/y_grad/Mul)
    rate = Const()
"""


def lost(text):
    """The variables that are named."""
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["w", "v"]))
    return [(hazard.op, hazard.description) for hazard in variables_without_gradient(whole)]


def test_a_variable_that_no_loss_depends_on_is_named():
    (found,) = lost(STEP)
    assert found[0] == "v" and found[1].startswith("no gradient reaches 1 trainable variable (v): ")


#: Gradients of another loss, as of a tower that is dropped.
OF_ANOTHER_LOSS = """
    other_loss = Mean(head)
    gradients_1/Fill = Const()
    gradients_1/other_loss_grad/Tile = Tile(gradients_1/Fill)
    gradients_1/head_grad/Mul = Mul(gradients_1/other_loss_grad/Tile, y)
"""


@pytest.mark.parametrize("more, depends", [(OF_ANOTHER_LOSS, True), ("other_loss = Mean(head)", False)])
def test_a_loss_whose_gradients_are_dropped_is_no_missing_loss(more, depends):
    ((op, description),) = lost(STEP + more)
    assert op == "v" and ("losses depend on them, but no update" in description) is depends
    assert ("no loss depends on them" in description) is not depends


@pytest.mark.parametrize(
    "old, new",
    [
        ("loss = Sum(y)", "loss = Sum(head)"),  # left as it is, as the layers of a trained network
        ("loss = Sum(y)", "still = StopGradient(v)\n loss = Sum(y, still)"),
        ("rate = Const()", "rate = Const()\n copy = Assign(v, w)"),  # a target network
        ("rate = Const()", "rate = Const()\n other = ApplyAdam(v, y)"),  # the next train op's
    ],
)
def test_a_variable_that_is_used_or_set_is_not(old, new):
    assert old in STEP and lost(STEP.replace(old, new)) == []


def test_where_nothing_trains_nothing_is_said():
    assert lost(STEP.replace("ApplyGradientDescent(w, rate, gradients/y_grad/Mul)", "NoOp()")) == []


#: A recurrent cell that returns the memory it was given: zeros enter in every step.
MEMORY = """
    x = Placeholder()
    w = VariableV2()
    v = VariableV2()
    shape = Const()
    zero = Const()
    memory = Fill(shape, zero)
    old = Reshape(memory, shape)
    kept = MatMul(old, v)
    seen = MatMul(x, w)
    loss = Sum(kept, seen)
    gradients/Fill = Const()
    gradients/loss_grad/Tile = Tile(gradients/Fill)
    gradients/kept_grad/MatMul = MatMul(old, gradients/loss_grad/Tile)
    gradients/seen_grad/MatMul = MatMul(x, gradients/loss_grad/Tile)
    average = Sub(v, x)
    train_v = ApplyGradientDescent(v, zero, gradients/kept_grad/MatMul)
    train_w = ApplyGradientDescent(w, zero, gradients/seen_grad/MatMul)
"""


def of_zeros(text, number=0.0):
    """The variables that are named, where the memory is filled with a number."""
    graph = graph_of(text, zero={"value": np.array(number, np.float32)}, shape={"value": np.array([2, 2])})
    whole = WholeGraph(saved(graph, trainable_variables=["w", "v"]))
    return [(hazard.op, hazard.description) for hazard in weights_of_zeros(whole)]


def test_a_weight_that_only_zeros_meet_is_named():
    (found,) = of_zeros(MEMORY)
    assert found[0] == "v" and found[1].startswith("1 trainable variable is multiplied with constant zeros alone (v): ")
    assert of_zeros(MEMORY, number=1.0) == []


@pytest.mark.parametrize(
    "old, new",
    [
        ("kept = MatMul(old, v)", "kept = MatMul(x, v)"),
        ("loss = Sum(kept, seen)", "loss = Sum(kept, seen, later)\n later = MatMul(x, v)"),  # a first state of zeros
        ("loss = Sum(kept, seen)", "loss = Sum(kept, seen, decay)\n decay = L2Loss(v)"),
        ("old = Reshape(memory, shape)", "old = ConcatV2(memory, x, shape)"),
    ],
)
def test_a_weight_that_meets_anything_else_is_not(old, new):
    assert old in MEMORY and of_zeros(MEMORY.replace(old, new)) == []


def layers(frozen, drawn=True):
    """A network of three layers, of which one is not trained."""
    v1 = tf.compat.v1

    def build():
        x = v1.placeholder(tf.float32, [4, 3], "x")
        for number in range(3):
            initial = v1.glorot_uniform_initializer() if drawn else v1.constant_initializer(0.5)
            trainable = number != frozen
            w = v1.get_variable(f"w{number}", [3, 3], initializer=initial, trainable=trainable, use_resource=False)
            x = tf.tanh(x @ w)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x)), name="train")

    names = [f"w{number}" for number in range(3) if number != frozen]
    return [h.op for h in untrained_layers(WholeGraph(saved(traced(build), trainable_variables=names)))]


@pytest.mark.parametrize("case, ops", [((1,), ["w1"]), ((0,), []), ((2,), []), ((None,), []), ((1, False), [])])
def test_a_random_layer_between_trained_ones_is_named(case, ops):
    """The first layers may be those of another program's checkpoint, and the last ones a network that judges."""
    assert layers(*case) == ops


def averaged(applied, is_image=False, has_more=False):
    """The hazards of two towers whose means of the gradients of some weights are applied.

    Args:
      applied: the names of those.
      is_image: the first weight is not a layer's, but what is added to the batch.
      has_more: the loss has a penalty of the weights, and each tower biases of its own.
    """

    def build():
        shapes = {"a": [4] if is_image else [4, 4], "b": [4, 2], "c": [2, 1]}
        weights = [v1.get_variable(name, shape, use_resource=False) for name, shape in shapes.items()]
        towers, optimizer = [], v1.train.GradientDescentOptimizer(0.5)
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                first = x + weights[0] if is_image else x @ weights[0]
                y = tf.tanh(tf.tanh(first) @ weights[1]) @ weights[2]
                own = [v1.get_variable(f"{name}{tower}", [2, 1], use_resource=False) for name in "uvw" if has_more]
                loss = tf.reduce_mean(tf.square(tf.add_n([y, *own]) if own else y))
                loss += tf.add_n([tf.nn.l2_loss(weight) for weight in weights]) if has_more else 0.0
                towers.append(optimizer.compute_gradients(loss, [*weights, *own]))
        pairs = [pair for pair in zip(*towers) if pair[0][1].op.name in applied]
        means = [((first + second) / 2.0, variable) for (first, variable), (second, _) in pairs]
        optimizer.apply_gradients(means, name="train")

    names = [*"abc", *(f"{name}{tower}" for tower in (0, 1) for name in "uvw" if has_more)]
    whole = WholeGraph(saved(traced(build), trainable_variables=names))
    return [hazard.description for hazard in gradients_of_the_first_alone(whole)]


def test_the_first_variable_s_gradient_alone_is_an_average_that_ends_early():
    """`average_gradients` with its `return` in the loop."""
    (text,) = averaged("a")
    assert "computes the gradients of 3 variables" in text
    assert text.endswith("those of the first alone (a); nothing changes the others (b, c)")


def test_so_it_is_beside_penalties_and_variables_of_each_tower():
    """A weight that is penalized has a sum of gradients, and a tower has no gradients of another one's biases."""
    (text,) = averaged("a", has_more=True)
    assert "computes the gradients of 6 variables" in text


@pytest.mark.parametrize("applied, is_image", [("abc", False), ("ab", False), ("c", False), ("a", True)])
@pytest.mark.parametrize("has_more", [False, True])
def test_parts_that_are_trained_on_purpose_are_not(applied, is_image, has_more):
    assert averaged(applied, is_image, has_more) == []
