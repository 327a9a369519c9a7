"""Towers' losses that contain other towers' terms, unequally and alike; whole programs are in test_hazard_twins.py."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.tower_losses import (
    losses_differentiated_by_each,
    losses_divided_twice,
    terms_of_other_towers,
)
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

#: Two towers, of which each minimizes its own loss.
LOSSES = """
    x0 = Placeholder()
    x1 = Placeholder()
    v = VariableV2()
    w = VariableV2()
    tower_0/own = Mul(x0, v)
    tower_1/own = Mul(x1, v)
    tower_0/loss = Identity(tower_0/own)
    tower_1/loss = Identity(tower_1/own)
    gradients/Fill = Const()
    gradients/tower_0/loss_grad/Mul = Mul(gradients/Fill, x0)
    gradients_1/Fill = Const()
    gradients_1/tower_1/loss_grad/Mul = Mul(gradients_1/Fill, x1)
    total = AddN(gradients/tower_0/loss_grad/Mul, gradients_1/tower_1/loss_grad/Mul)
    train = ApplyGradientDescent(v, total)
    """
BOTH = "AddN(tower_0/own, tower_1/own)"


def hazards(text):
    """The hazards of a graph whose towers are known by their names; so few nodes do not tell them."""
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["v", "w"]))
    whole.labels = {f"tower_{number}/{name}": number for number in range(2) for name in ("own", "loss")}
    whole.count = 2
    return list(terms_of_other_towers(whole))


def test_a_sum_with_another_towers_loss_counts_it_twice():
    (found,) = hazards(LOSSES.replace("Identity(tower_1/own)", BOTH))
    assert found[:2] == ("TERMS_OF_OTHER_TOWERS", "tower_1/loss")
    assert "the loss of tower 1 contains those of tower 0" in found[2] and found[2].endswith("counts 2, 1 times")


@pytest.mark.parametrize("replaced", [(), ("Identity(tower_0/own)", "Identity(tower_1/own)")])
def test_losses_of_their_own_and_one_sum_for_all_towers_are_not_accused(replaced):
    text = LOSSES
    for old in replaced:
        text = text.replace(old, BOTH)
    assert hazards(text) == []


@pytest.mark.parametrize("device", ["/gpu", "/gpu:0", "/gpu:1", "/cpu:0"])
@pytest.mark.parametrize("weights, count", [((1.0, 1.0), 0), ((1.0, 0.5), 1)])
def test_one_sum_of_all_towers_losses_is_not_accused_on_whatever_device_it_is(device, weights, count):
    def build():
        w, losses = v1.get_variable("w", [4, 3], use_resource=False), []
        u = v1.get_variable("u", [3, 3], use_resource=False)
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                hidden = tf.nn.relu(x @ w)
                losses += [tf.nn.l2_loss(hidden - 1.0) * weights[tower], tf.nn.l2_loss(hidden @ u) * weights[tower]]
        with tf.device(device):
            total = tf.reduce_sum(losses) / 8.0
        v1.train.GradientDescentOptimizer(0.1).minimize(total, name="train")

    graph = saved(traced(build), trainable_variables=["w", "u"])
    found = list(terms_of_other_towers(WholeGraph(graph, analyse_graph(graph, "small", ["train"]))))
    assert len(found) == (count if "gpu" in device else 0)


#: A penalty on looked-up rows, of a collection that each tower adds to, beside the towers' own losses.
ROWS = """
    tower_0/rows = Mul(x0, w)
    tower_1/rows = Mul(x1, w)
    tower_0/penalty = L2Loss(tower_0/rows)
    tower_1/other_penalty = L2Loss(tower_0/rows)
    tower_1/penalty = L2Loss(tower_1/rows)
    """


def hazards_of_rows(terms, labels=("rows", "penalty", "other_penalty")):
    """The hazards of two towers whose losses add {tower: ops} of `ROWS` to their own."""
    text = LOSSES.replace("    tower_0/loss", ROWS + "    tower_0/loss")
    for tower, names in terms.items():
        text = text.replace(f"Identity(tower_{tower}/own)", f"AddN({', '.join((f'tower_{tower}/own', *names))})")
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["v", "w"]))
    names = ("own", "loss", *labels)
    whole.labels = {f"tower_{t}/{name}": t for t in range(2) for name in names if f"tower_{t}/{name}" in text}
    whole.count = 2
    return list(terms_of_other_towers(whole))


def test_a_penalty_of_another_towers_rows_is_named_whatever_its_own_op_is_called():
    terms = {0: ["tower_0/penalty"], 1: ["tower_1/other_penalty", "tower_1/penalty"]}
    (found,) = hazards_of_rows(terms)
    assert found.id == "TERMS_OF_OTHER_TOWERS" and "contains those of tower 0" in found.description


def test_a_penalty_of_its_own_rows_is_not():
    assert hazards_of_rows({0: ["tower_0/penalty"], 1: ["tower_1/penalty"]}) == []


@pytest.mark.parametrize(
    "step, count",
    [
        (lambda gradients: 0.05 * tf.add_n(gradients) / 2.0, 1),
        (lambda gradients: 0.05 * tf.reduce_mean(tf.stack(gradients), 0), 1),
        (lambda gradients: 0.05 * tf.add_n(gradients), 0),
        (lambda gradients: 2.0 * tf.reduce_mean(tf.stack(gradients), 0), 0),  # a sum again
    ],
)
def test_a_descent_by_hand_along_the_mean_of_divided_losses_is_named(step, count):
    def build():
        w, gradients = v1.get_variable("w", [4, 1], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_mean(tf.nn.softplus(x @ w)) / 2.0, [w])
        v1.assign_sub(w, step(gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    found = list(losses_divided_twice(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in found] == ["LOSS_DIVIDED_TWICE"] * count


def divergence(values):
    mean, log_variance = values[:, :1], values[:, 1:]
    return tf.reduce_mean(-0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), 1))


def main(values):
    return tf.reduce_mean(tf.nn.softplus(values))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda values: main(values) + 0.01 * divergence(values), 1),  # whose half is that of its own squares
        (lambda values: (main(values) + 0.01 * divergence(values)) + tf.nn.l2_loss(tf.ones([2])), 1),
        (lambda values: main(values) + divergence(values), 0),  # perhaps a mean of both
        (lambda values: main(values) + tf.reduce_mean(tf.abs(values)), 0),
        (lambda values: main(values) + tf.reduce_mean(tf.abs(values)) + -9.0 * tf.reduce_mean(tf.tanh(values)), 0),
        (lambda values: main(values) + 0.5 * tf.reduce_mean(tf.abs(values)) + 3.0 * tf.reduce_mean(tf.tanh(values)), 1),
        (lambda values: tf.reduce_mean(tf.square(values)), 0),  # perhaps half of a square
        (lambda values: tf.reduce_mean(tf.square(values)) + 0.01 * tf.reduce_mean(tf.square(values - 1.0)), 0),
        (lambda values: divergence(values), 0),
        # of two errors of each example, or of the better of two orders of them
        (lambda values: tf.reduce_mean(tf.nn.softplus(values[:, 0]) + tf.abs(values[:, 1])), 0),
        (lambda values: -tf.reduce_mean(tf.maximum(tf.add_n([values, tf.abs(values)]), tf.nn.softplus(values))), 0),
        (lambda values: tf.reduce_mean(tf.nn.softplus(values[:, 0]) + 0.1 * tf.abs(values[:, 1])), 1),
        (lambda values: tf.reduce_mean(tf.nn.softplus(values[:, 0] + tf.abs(values[:, 1]))), 1),
    ],
)
def test_a_half_is_perhaps_that_of_a_loss_whose_terms_are_all_squares_or_two_without_weights(loss, count):
    def build():
        w, gradients = v1.get_variable("w", [4, 2], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(loss(x @ w) / 2.0, [w])
        v1.assign_sub(w, 0.05 * tf.add_n(gradients) / 2.0, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    found = list(losses_divided_twice(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in found] == ["LOSS_DIVIDED_TWICE"] * count


@pytest.mark.parametrize("rows", [4, None])
@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda values: tf.reduce_sum(values) / 2.0 / 2.0, 1),  # by the examples, and then by the towers
        (lambda values: (tf.reduce_sum(values) / 2.0 + 0.1 * tf.reduce_mean(values)) / 2.0, 1),
        (lambda values: tf.reduce_sum(values) / 2.0, 0),  # two towers of two examples
        (lambda values: 0.5 * tf.reduce_sum(values) / 2.0, 0),
    ],
)
def test_a_sum_that_its_examples_divide_is_divided_by_the_towers_besides(loss, count, rows):
    def build():
        w, gradients = v1.get_variable("w", [4, 1], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [rows, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(loss(tf.nn.softplus(x @ w)), [w])
        v1.assign_sub(w, 0.05 * tf.add_n(gradients) / 2.0, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    found = list(losses_divided_twice(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in found] == ["LOSS_DIVIDED_TWICE"] * count


@pytest.mark.parametrize("is_same, count", [(True, 1), (False, 0)])
def test_one_loss_that_each_device_differentiates_is_named(is_same, count):
    def build():
        weight = v1.get_variable("w", [4, 3], use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ weight))
        losses = [loss, loss if is_same else loss + tf.nn.l2_loss(weight)]
        optimizer, gradients = v1.train.AdamOptimizer(), []
        for number, each in enumerate(losses):
            with tf.device(f"/gpu:{number}"):
                gradients.append(optimizer.compute_gradients(each)[0][0])
        mean = tf.reduce_mean(tf.concat([tf.expand_dims(one, 0) for one in gradients], 0), 0)
        optimizer.apply_gradients([(mean, weight)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    named = [hazard.id for hazard in losses_differentiated_by_each(WholeGraph(graph, found), found)]
    assert named == ["LOSS_DIFFERENTIATED_BY_EACH"] * count
