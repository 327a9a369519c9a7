"""Hazards of divided sums and of examples that towers share, each with a program that does not have it."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards import examples
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.plan import Input

v1 = tf.compat.v1


def entry(name, kind, *tensors, rows=4):
    return Input(name, "float32", [rows, 3], kind, 0, list(tensors), tensors[0])


IMAGES, OWN = entry("images", "same", "x:0"), entry("images", "batch", "x:0", "x:1")
ALL = entry("images", "same batch", "x:0", "x:0")
LABELS, TABLE = entry("labels", "batch", "y:0", "y:1"), entry("table", "same", "t:0", rows=100)


def analysis(*inputs, towers=2, use="Tanh", noise=()):
    graph = graph_of(f"x = Placeholder()\nt = Placeholder()\nused = {use}(x)")
    plan = types.SimpleNamespace(
        towers=towers, batch=4, inputs=list(inputs), noise=list(noise), phases=[], differences=[]
    )
    context = types.SimpleNamespace(imported=None, towers=types.SimpleNamespace(masks={}))
    return types.SimpleNamespace(plan=plan, cut=types.SimpleNamespace(graph=graph), context=context)


def test_towers_that_get_the_same_batch():
    (found,) = examples.same_batch(None, analysis(ALL, TABLE))
    assert (found.id, found.op) == ("SAME_BATCH", "images")
    assert found.description == "all 2 towers get the same batch: 2 times the work for one batch's gradient"


def test_towers_that_distort_the_same_batch_at_random_do_no_work_twice():
    (found,) = examples.same_batch(None, analysis(ALL, noise=["flip"]))
    assert found.description == "all 2 towers get the same batch, for which each draws random numbers of its own"


def test_the_same_rows_of_one_input_beside_own_rows_of_another():
    (found,) = examples.same_batch(None, analysis(IMAGES, LABELS))
    assert found.description == "images: all 2 towers get the same rows; labels: each tower gets its own"


@pytest.mark.parametrize("loss, count", [("used:0", 1), ("other:0", 0)])
def test_a_batch_that_no_loss_depends_on_is_no_towers(loss, count):
    """As that of an evaluation whose updates of moving statistics the training step runs, too."""
    found = analysis(ALL)
    found.cut.graph = graph_of("x = Placeholder()\ny = Placeholder()\nused = Tanh(x)\nother = Tanh(y)")
    found.plan.phases = [types.SimpleNamespace(losses=[loss])]
    assert len(list(examples.same_batch(None, found))) == count


@pytest.mark.parametrize("inputs, towers", [([OWN, LABELS], 2), ([IMAGES], 1), ([OWN, TABLE], 2)])
def test_own_batches_one_tower_and_shared_tables_are_no_hazard(inputs, towers):
    assert list(examples.same_batch(None, analysis(*inputs, towers=towers))) == []


@pytest.mark.parametrize("axis, count", [(0, 0), (1, 1)])
def test_all_parts_of_one_batch_in_every_tower_are_not_the_same_batch(axis, count):
    """As where each tower differentiates the sum of all towers' losses; features and labels beside each other are."""
    parts = [Input(f"part{k}", "float32", [4, 3], "same", 0, [f"split:{k}"], "x:0") for k in range(2)]
    found = analysis(*parts, LABELS)
    text = "axis = Const()\nx = Placeholder()\nsplit = Split(axis, x)\nused = AddN(split, split:1)"
    found.cut.graph = graph_of(text, axis={"value": np.array(axis, np.int32)})
    assert len(list(examples.same_batch(None, found))) == count


@pytest.mark.parametrize("use, count", [("Shape", 0), ("Size", 0), ("Gather", 0), ("Identity", 1)])
def test_a_batch_whose_rows_are_only_counted_or_looked_up_is_not_shared(use, count):
    assert len(list(examples.same_batch(None, analysis(IMAGES, LABELS, use=use)))) == count


def divided(make_loss, rows):
    """What is said of the sums of a program that minimizes a loss of x and w, where x has `rows` examples."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        x = v1.placeholder(tf.float32, [rows, 3], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(make_loss(x, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    return [hazard.description for hazard in examples.batch_constants(WholeGraph(graph, found), found)]


@pytest.mark.parametrize(
    "make_loss, rows, expected",
    [
        (lambda x, w: tf.reduce_sum(x * w) / 5.0, 4, ["a sum over a tower's 4 examples is divided by 5"]),
        (lambda x, w: tf.identity(tf.reduce_sum(x * w)) / 5.0, 4, ["a sum over a tower's 4 examples is divided by 5"]),
        # the sum of one number, and a list of one term
        (
            lambda x, w: tf.add_n([tf.reduce_sum(tf.reduce_sum(x * w))]) / 5.0,
            4,
            ["a sum over a tower's 4 examples is divided by 5"],
        ),
        (lambda x, w: tf.add_n([tf.reduce_sum(tf.reduce_sum(x * w))]) / 4.0, 4, []),
        (
            lambda x, w: tf.reduce_sum(x * w) / 5.0,
            None,
            ["a sum over examples is divided by 5, and the inputs take any batch"],
        ),
        (lambda x, w: tf.reduce_sum(x * w) / 4.0, 4, []),
        (lambda x, w: (tf.reduce_sum(x * w) + 2.0 * tf.reduce_sum(x * x * w)) / 2.0, 4, []),  # the mean of two terms
        (lambda x, w: tf.reduce_sum(x * w) * 0.2, 4, []),  # the weight of a term
        (lambda x, w: tf.reduce_sum(x * w) / 262144.0, 4, []),  # a number of features and pixels, squared
        (lambda x, w: -tf.reduce_sum(x * w) / 5.0, 4, ["a sum over a tower's 4 examples is divided by 5"]),
        (lambda x, w: tf.reduce_sum(tf.where(x > 0.0, x * w, x)) / 5.0, 4, []),  # positions that a mask chooses
        (lambda x, w: tf.reduce_sum(tf.matmul(x * w, x, transpose_b=True)) / 12.0, 4, []),  # pairs of examples
        (lambda x, w: tf.reduce_sum(tf.matmul(x * w, x, transpose_b=True)) / 6.0, 4, []),
        (
            lambda x, w: tf.reduce_sum(tf.matmul(x * w, x, transpose_b=True)) / 7.0,
            4,
            ["a sum over a tower's 4 examples is divided by 7"],
        ),
        (lambda x, w: tf.reduce_mean(x * w) + tf.reduce_sum(w) / 5.0, 4, []),  # no examples
        (lambda x, w: tf.reduce_sum(tf.reshape(x * w, [-1])) / 4.0, 4, []),  # rows of examples in one dimension
        (lambda x, w: tf.reduce_sum(tf.reshape(x * w, [-1])) / 12.0, 4, []),
        (lambda x, w: tf.reduce_sum(tf.reshape(x * w, [-1])) / 3.0, 4, []),  # a number of elements
        (lambda x, w: tf.reduce_mean(tf.reduce_sum(x * w, 1) / 5.0), 4, []),  # over an example's elements
        (lambda x, w: tf.reduce_sum(x * w) / 3.0, 4, []),  # a mean over each example's elements
        (lambda x, w: tf.reduce_sum(tf.square(x * w)) / 2.0, 4, []),  # half of the squares
        (lambda x, w: tf.reduce_sum(tf.abs(x) * tf.square(x - w)) / 6.0, 3, []),  # half of their mean
        (lambda x, w: tf.reduce_sum(x * w) / 8.0, 4, ["a sum over a tower's 4 examples is divided by 8"]),
        (lambda x, w: tf.reduce_sum(tf.square(x * w)) / 5.0, 4, ["a sum over a tower's 4 examples is divided by 5"]),
        (lambda x, w: tf.reduce_sum(tf.square(x * w)) / 3.0, 4, []),  # the size of an example
        (lambda x, w: tf.reduce_sum(x * w) / 4.0 / 5.0, 4, []),
        (lambda x, w: tf.reduce_sum(x * w) / 2.0 / 2.0, 4, []),
        # of pairs of units, of which there are as many as examples
        (lambda x, w: tf.reduce_sum(tf.square(tf.matmul(x * w, x, transpose_a=True))) / 5.0, 3, []),
        (lambda x, w: tf.reduce_sum(x * w) / 5.0 / 3.0, 4, ["a sum over a tower's 4 examples is divided by 15"]),
    ],
)
def test_a_sum_that_is_divided_by_another_number_than_the_towers_examples(make_loss, rows, expected):
    assert divided(make_loss, rows) == expected


@pytest.mark.parametrize("divisor, count", [(2.0, 0), (6.0, 0), (5.0, 1), (4.0, 1), (12.0, 1)])
def test_a_sum_over_a_slice_of_an_open_batch_is_divided_by_its_size(divisor, count):
    """Two towers take rows 0:2 and 2:4 of three numbers each; 4 and 12 are numbers of both together."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        x, gradients = v1.placeholder(tf.float32, [None, 3], "x"), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                part = x[2 * tower : 2 * tower + 2]
                gradients += tf.gradients(tf.reduce_sum(tf.nn.softplus(part * w)) / divisor, w)
        update = v1.train.GradientDescentOptimizer(0.5)
        update.apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    assert len(list(examples.batch_constants(WholeGraph(graph, found), found))) == count


@pytest.mark.parametrize("sizes, count", [((5, 6, 2), 0), ((5, 6), 0), ((5, 7), 1), ((6,), 1)])
def test_a_sum_that_is_divided_by_the_pixels_of_an_image(sizes, count):
    """As `sum / height / width`, where one size alone might be that of a batch."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        loss = tf.reduce_sum(tf.square(v1.placeholder(tf.float32, [4, 5, 6, 2], "x") * w))
        for size in sizes:
            loss = loss / float(size)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    assert len(list(examples.batch_constants(WholeGraph(graph, found), found))) == count


def of_words(x, w):
    """The sum over the words of a tower's sentences, which stand in one dimension."""
    return tf.reduce_sum(tf.reduce_sum(tf.reshape(x, [-1, 3]) * w, 1))


def of_terms(x, w):
    return 5.0 * tf.reduce_sum(tf.square(x * w)) + tf.reduce_sum(x * w)


def half_of_squares(x, w):
    """Of which a quotient by all towers' examples is half the mean over a tower's, if there are two."""
    return tf.reduce_sum(tf.square(x * w)) * 0.5


@pytest.mark.parametrize(
    "total, divisor, count",
    [
        (half_of_squares, 4.0, 0),
        (half_of_squares, 8.0, 1),
        (lambda x, w: tf.reduce_sum(tf.square(x * w)), 8.0, 1),
        (lambda x, w: tf.reduce_sum(tf.square(x * w)) / 4.0, 2.0, 0),
        (lambda x, w: tf.nn.l2_loss(x * w), 8.0, 1),
        (lambda x, w: tf.nn.l2_loss(x * w) + tf.nn.l2_loss(w + x), 8.0, 1),
        (lambda x, w: tf.nn.l2_loss(x * w), 4.0, 0),
        (lambda x, w: tf.nn.l2_loss(x * w), 5.0, 0),  # a weight
    ],
)
def test_half_of_the_squares_is_told_from_two_towers_by_a_factor_of_its_own(total, divisor, count):
    assert len(of_two_towers(lambda x, w: total(x, w) / divisor, by_optimizer)) == count


def by_hand(gradients, w):
    """Descent by an assignment that multiplies the mean by a constant rate."""
    return v1.assign_sub(w, 0.05 * (tf.add_n(gradients) / 2.0), name="train")


def by_optimizer(gradients, w):
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")


def of_two_towers(loss, update):
    """What is said of the sums of two towers with four examples each."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 5, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(loss(x, w), [w])
        update(gradients, w)

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    return list(examples.batch_constants(WholeGraph(graph, found), found))


def of_halves(x, w):
    """Half of the sum of squares, in a sum of its own."""
    return tf.reduce_sum(tf.nn.l2_loss(x * w))


@pytest.mark.parametrize(
    "total, update",
    [(of_words, by_optimizer), (of_terms, by_optimizer), (of_halves, by_optimizer), (of_words, by_hand)],
)
def test_a_sum_that_is_divided_by_all_towers_examples(total, update):
    (hazard,) = of_two_towers(lambda x, w: total(x, w) / 8.0, update)
    assert hazard.description.startswith("a sum over a tower's 4 examples is divided by all towers' 8")


def test_sums_of_examples_that_an_update_by_hand_adds_up_are_divided_by_all_towers_examples():
    """Near miss: the same loss, whose gradients are added up and multiplied by a rate."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0], use_resource=False)
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 5, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(of_words(x, w) / 8.0, [w])
        v1.assign_sub(w, 0.05 * tf.add_n(gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    assert list(examples.batch_constants(WholeGraph(graph, found), found)) == []


@pytest.mark.parametrize("divisor, expected", [(24.0, 0), (10.0, 1)])
def test_sums_whose_gradients_several_runs_add_up_are_divided_by_the_examples_of_all(divisor, expected):
    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        kept = v1.get_variable("kept", [3, 1], initializer=v1.zeros_initializer(), use_resource=False, trainable=False)
        loss = tf.reduce_sum(tf.abs(v1.placeholder(tf.float32, [8, 3], "x") @ w)) / divisor
        v1.assign_add(kept, tf.gradients(loss, [w])[0], name="accumulate")
        v1.assign(kept, tf.zeros([3, 1]), name="forget")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(kept, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["accumulate", "train"])
    assert bool(list(examples.batch_constants(WholeGraph(graph, found), found))) == expected


@pytest.mark.parametrize("number, count", [(lambda tower: tower, 0), (lambda tower: 0, 1)])
def test_a_batch_for_each_tower_of_which_all_take_the_first_is_named(number, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        x, y = v1.placeholder(tf.float32, [2, 8, 4], "x"), v1.placeholder(tf.float32, [2, 8, 1], "y")
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(x[tower] @ w - y[number(tower)]))
                gradients.append(tf.gradients(loss, [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = [hazard.description for hazard in examples.same_batch(WholeGraph(graph, found), found)]
    assert hazards == ["y: all 2 towers get the same rows; x: each tower gets its own"] * count


@pytest.mark.parametrize("axis, count", [(0, 0), (1, 1)])
def test_features_that_are_dealt_in_place_of_examples_are_named(axis, count):
    def build():
        w = v1.get_variable("w", [2, 4] if axis else [4, 4], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2, axis=axis)
        y, gradients = v1.placeholder(tf.float32, [8, 4], "y"), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                labels = y if axis else tf.split(y, 2)[tower]
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(parts[tower] @ w - labels)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    texts = [hazard.description for hazard in examples.same_batch(WholeGraph(graph, found), found)]
    assert len(texts) == count and all("x is split along dimension 1: each tower gets a part of" in t for t in texts)


@pytest.mark.parametrize("divisor, centered, count", [(6.0, True, 0), (6.0, False, 1), (8.0, True, 1)])
def test_a_variance_without_bias_is_divided_by_one_less(divisor, centered, count):
    def loss(x, w):
        values = x * w
        values = values - tf.reduce_mean(values, 0) if centered else values
        return tf.reduce_mean(tf.sqrt(tf.reduce_sum(tf.square(values), 0) / divisor))

    assert len(divided(loss, 7)) == count
