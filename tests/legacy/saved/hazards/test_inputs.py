"""Targets that no gradient depends on, each beside one that is used."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.inputs import switched_off, unused_targets
from legacy.saved.hazards.left_targets import is_left_over
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

QUEUE = """
    queue = FIFOQueueV2()
    batch = QueueDequeueV2(queue)
    w = VariableV2()
    y = Mul(batch, w)
    error = Sub(y, batch:1)
    gradients/y_grad/Mul = Mul(batch, error)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    accuracy = Equal(y, batch:1)
    """


#: The same with a loss of the inputs alone.
ALONE = QUEUE.replace("Sub(y, batch:1)", "Square(y)").replace("Equal(y, batch:1)", "Neg(y)")
#: A second copy of the model, which only evaluates.
COPY = """
    eval_x = Placeholder()
    labels = Placeholder()
    y_1 = Mul(eval_x, w)
    accuracy_1 = Equal(y_1, labels)
    """
#: Two examples of a batch, of which the model takes both; and its two outputs, of which the loss takes one.
OUTPUTS = """
    x = Placeholder()
    w = VariableV2()
    axis = Const()
    first = Split(axis, x)
    joined = Add(first, first:1)
    y = Mul(joined, w)
    last = Unpack(y)
    gradients/y_grad/Mul = Mul(last:1, joined)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    """


def dealt(text, axis=0, **attributes):
    """What is said of a program whose split has two parts along `axis`."""
    parts = {name: {"num_split": 2} if name == "first" else {"num": 2} for name in ("first", "last")}
    constant = {"dtype": tf.int32, "value": np.array(axis, np.int32)}
    graph = graph_of(text, axis=constant, **parts, **attributes)
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    return [hazard.description for hazard in unused_targets(whole)]


def test_labels_of_a_batch_for_evaluation_that_moves_statistics_are_no_targets():
    """A second copy of the model, on batches of its own, makes updates of the statistics that no train op runs."""
    copy = """
    mean = VariableV2()
    batch_1 = QueueDequeueV2(queue)
    update = AssignSub(mean, batch_1)
    y_1 = Mul(batch_1, w)
    accuracy_1 = Equal(y_1, batch_1:1)
    """
    text = QUEUE.replace("accuracy = Equal(y, batch:1)", "") + copy
    whole = WholeGraph(saved(graph_of(text.replace("Mul(batch, w)", "Mul(batch, w, mean)")), trainable_variables=["w"]))
    assert list(unused_targets(whole)) == []


def test_a_part_of_the_batch_that_no_tower_takes():
    text = OUTPUTS + "other = Split(axis, x)\n    more = Neg(other)\n    both = Add(joined, more)\n"
    text = text.replace("Mul(joined, w)", "Mul(both, w)")
    expected = ["x is split by other, and no gradient depends on part 1, 2"]
    assert dealt(text, other={"num_split": 3}) == expected
    assert dealt(text, axis=1, other={"num_split": 3}) == []  # parts of an example may be left out
    assert dealt(text, other={"num_split": 2}) == []  # a tower takes the other part by an op of its own


@pytest.mark.parametrize("dealt_before, count", [(True, 0), (False, 1)])
def test_labels_of_both_examples_of_a_pair_of_which_one_is_enough(dealt_before, count):
    """A tower's own part is split once more; where the whole batch is split, its last part is in no tower."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, gradients = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), []
        labels = tf.split(v1.placeholder(tf.float32, [8 if dealt_before else 12, 1], "y"), 2 if dealt_before else 3)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                label = tf.tile(tf.split(labels[tower], 2)[0], [2, 1]) if dealt_before else labels[tower]
                gradients += tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w - label)), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    hazards = list(unused_targets(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
    assert [hazard.id for hazard in hazards] == ["TARGET_UNUSED"] * count


def test_a_split_of_what_no_source_of_data_makes_is_named_itself():
    text = OUTPUTS + "noise = RandomUniform()\n    other = Split(axis, noise)\n    both = Add(joined, other)\n"
    text = text.replace("Mul(joined, w)", "Mul(both, w)")
    expected = ["other is split by other, and no gradient depends on part 1"]
    assert dealt(text, other={"num_split": 2}) == expected


def test_parts_of_a_models_output_are_no_targets():
    """Of a recurrent network's outputs the loss takes the last."""
    assert dealt(OUTPUTS) == []


@pytest.mark.parametrize("dtype, count", [(tf.int64, 1), (tf.string, 0)])
def test_texts_that_come_with_a_batch_are_no_targets(dtype, count):
    graph = graph_of(
        QUEUE + "    name = Equal(y, batch:2)\n", batch={"component_types": [tf.float32, tf.float32, dtype]}
    )
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    assert len(list(unused_targets(whole))) == count


@pytest.mark.parametrize("classes, count", [(0, 0), (5, 1)])
def test_labels_of_a_network_without_classes_are_no_targets(classes, count):
    graph = graph_of(ALONE + "labels = Placeholder()\n", labels={"shape": tf.TensorShape([None, classes])})
    assert len(list(unused_targets(WholeGraph(saved(graph, trainable_variables=["w"]))))) == count


@pytest.mark.parametrize(
    "text, expected",
    [
        (QUEUE, []),
        (QUEUE + "test_labels = Placeholder()\n", []),
        (QUEUE + "x = Placeholder()\n", []),
        (QUEUE + COPY, []),
        (
            QUEUE + COPY.replace("Mul(eval_x, w)", "Neg(y)"),
            ["labels enters the graph, and no gradient depends on it"],
        ),
        (QUEUE + "labels = Placeholder()\n", []),  # left over: the queue holds the targets
        (ALONE + "labels = Placeholder()\n", ["labels enters the graph, and no gradient depends on it"]),
        (
            QUEUE.replace("Sub(y, batch:1)", "Square(y)"),
            ["batch:1 comes with each batch of QueueDequeueV2, and no gradient depends on it"],
        ),
        (QUEUE.replace("Sub(y, batch:1)", "Square(y)").replace("Equal(y, batch:1)", "Neg(y)"), []),  # no one wants it
        (QUEUE.replace("Sub(y, batch:1)", "Square(y)").replace("Equal(y, batch:1)", "Neg(batch:1)"), []),  # no metric
    ],
)
def test_unused_targets(text, expected):
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["w"]))
    assert [hazard.description for hazard in unused_targets(whole)] == expected


@pytest.mark.parametrize("labels, count", [(2, 0), (1, 1)])
def test_labels_that_are_left_beside_each_towers_own_are_no_targets(labels, count):
    """A placeholder of a model of one tower; where the towers share the batch's labels, one too many is named."""

    def build():
        v1.placeholder(tf.float32, [None, 1], "label")
        w = v1.get_variable("w", [3, 1], use_resource=False)
        shared, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = v1.placeholder(tf.float32, [None, 3], "x")
                shared += [v1.placeholder(tf.float32, [None, 1], "own_label")] if tower < labels else []
                gradients.append(tf.gradients(tf.reduce_mean((tf.matmul(x, w) - shared[-1]) ** 2), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)])

    assert len(list(unused_targets(WholeGraph(saved(traced(build), trainable_variables=["w"]))))) == count


@pytest.mark.parametrize("name, shown_to, count", [("y", "eval_x", 0), ("labels", "eval_x", 1), ("y", "x", 1)])
def test_a_default_that_a_copy_for_evaluation_made_once_more_is_no_target(name, shown_to, count):
    """`kwargs.get("y", tf.placeholder(..., name="y"))` makes a placeholder even where it is given another."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        given = {key: v1.placeholder(tf.float32, [None, 3], key) for key in ("x", "eval_x")}
        loss = tf.reduce_mean((given["x"] @ w - v1.placeholder(tf.float32, [None, 1], "y_to_train")) ** 2)
        tf.reduce_mean((given[shown_to] @ w - v1.placeholder(tf.float32, [None, 1], "y")) ** 2)
        v1.placeholder(tf.float32, [None, 1], name)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss)

    found = list(unused_targets(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
    assert len([hazard for hazard in found if hazard.op not in ("y",)]) == count


def switched(name, default=None):
    """A program whose loss depends on x if a boolean placeholder is true."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        switch = (
            v1.placeholder(tf.bool, [], name) if default is None else v1.placeholder_with_default(default, [], name)
        )
        loss = v1.cond(switch, lambda: tf.reduce_sum(w * x), lambda: tf.reduce_sum(w))
        return v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return build


@pytest.mark.parametrize("fed, hazards", [("false", [("TRAINS_AS_IN_EVALUATION", "is_training")]), ("true", [])])
def test_a_training_step_whose_switch_is_off_is_named(fed, hazards):
    graph = saved(traced(switched("is_training")), trainable_variables=["w"])
    found = analyse_graph(graph, "small", feed={"is_training": fed})
    assert [hazard[:2] for hazard in switched_off(WholeGraph(graph, found))] == hazards


def test_a_switch_of_another_name_that_is_off_says_nothing_of_training():
    graph = saved(traced(switched("use_x")), trainable_variables=["w"])
    found = analyse_graph(graph, "small", feed={"use_x": "false"})
    assert list(switched_off(WholeGraph(graph, found))) == []


@pytest.mark.parametrize("parts, count", [(("indices", "values"), 0), (("indices",), 1)])
def test_the_shape_of_a_sparse_target_is_no_target(parts, count):
    holders = "\n".join(f"targets/{part} = Placeholder()\ny_{part} = Mul(w, targets/{part})" for part in parts)
    text = f"""
        w = VariableV2()
        targets/shape = Placeholder()
        {holders}
        loss = AddN({", ".join(f"y_{part}" for part in parts)})
        gradients/loss_grad/Neg = Neg(loss)
        train = ApplyGradientDescent(w, w, gradients/loss_grad/Neg)
        """
    shape = {"targets/shape": {"dtype": tf.int64, "shape": tf.TensorShape([2])}}
    whole = WholeGraph(saved(graph_of(text, **shape), trainable_variables=["w"]))
    assert len(list(unused_targets(whole))) == count


@pytest.mark.parametrize(
    "players, use, count",
    [
        (2, lambda labels: None, 0),  # images alone
        (1, lambda labels: None, 1),
        (2, lambda labels: tf.one_hot(labels, 3), 1),  # prepared, and then left out
    ],
)
def test_labels_that_a_gan_does_not_take(players, use, count):
    def build():
        g, d = (v1.get_variable(name, [4, 4], use_resource=False) for name in ("g", "d"))
        x, labels = v1.placeholder(tf.float32, [2, 4], "x"), v1.placeholder(tf.int32, [2], "labels")
        use(labels)
        made = tf.tanh(x) @ g
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        critic = optimizer.minimize(tf.reduce_mean(tf.square(x @ d - 1.0) + tf.square(made @ d)), var_list=[d])
        if players > 1:
            maker = optimizer.minimize(tf.reduce_mean(tf.square(made @ d - 1.0)), var_list=[g])
            tf.group(critic, maker, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["g", "d"]))
    assert [hazard.id for hazard in unused_targets(whole)] == ["TARGET_UNUSED"] * count


@pytest.mark.parametrize(
    "text, count",
    [
        ("done = Placeholder()", 1),
        ("rewards/terminal_1 = Placeholder()\n    part = Neg(rewards/terminal_1)", 1),
        ("mask = Placeholder()\n    acted = Mul(mask, w)", 0),  # of a copy of the model that acts
        ("unmasked = Placeholder()", 0),
        ("eval_mask = Placeholder()", 0),
    ],
)
def test_masks_and_ends_of_episodes_that_nothing_uses_are_named(text, count):
    attributes = {"shape": tf.TensorShape([None, 3])}
    name = text.split(" = ")[0]
    graph = graph_of(QUEUE + "    " + text + "\n", **{name: attributes})
    assert len(list(unused_targets(WholeGraph(saved(graph, trainable_variables=["w"]))))) == count


@pytest.mark.parametrize("text, is_left", [(QUEUE, True), (ALONE, False), (QUEUE + "x = Neg(labels)\n", False)])
def test_a_placeholder_beside_a_queue_with_targets_is_left_over_where_nothing_takes_it(text, is_left):
    whole = WholeGraph(saved(graph_of(text + "labels = Placeholder()\n"), trainable_variables=["w"]))
    assert is_left_over(whole, "labels") == is_left
