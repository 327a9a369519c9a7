"""Losses with a value for each example, and one loss of all towers' examples, written with their training steps."""

import functools
import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from legacy.source.made_up_tower import Tower, made_up_data, proof_states, value_of
from legacy.source.old_tower import old_results
from legacy.source.step.dealt_inputs import with_dealt_inputs
from legacy.source.step.input_names import input_names
from legacy.source.update.loss_of_all import loss_of_all_lines
from tests.legacy.source.trained import (
    assert_port_verified,
    assert_trains_alike,
    assert_workload_verified,
    source_of,
)
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, mean_of, split_batch, towers, weights
from workloads.lifted.plan import Input

v1 = tf.compat.v1


def of_each_example(x):
    return tf.reduce_sum(tf.tanh(tf.matmul(x, weights())) ** 2, 1)


def minimized_together(combine):
    """A program that minimizes what `combine` makes of the losses of all towers' examples."""

    def build():
        xs = split_batch()
        losses = towers(lambda tower: of_each_example(xs[tower]))
        return v1.train.MomentumOptimizer(0.125, 0.5).minimize(combine(losses), var_list=[weights()])

    return build


def third_of_the_sum(losses):
    return tf.reduce_sum(tf.concat(losses, 0)) / 3.0


def soft_maximum(losses):
    return tf.reduce_logsumexp(tf.concat(losses, 0))


def values_of_examples():
    """Each tower's gradient is that of a vector: the sum of its values is minimized."""
    xs = split_batch()
    return mean_of(towers(lambda tower: tf.gradients(of_each_example(xs[tower]), [weights()])[0]))


@pytest.mark.parametrize(
    "combine, line",
    [
        (third_of_the_sum, "    return tf.reduce_sum(tf.concat(losses, axis=0)) / 3.0"),
        (soft_maximum, "tf.exp("),
    ],
)
def test_a_loss_of_all_towers_is_a_function_whose_derivative_each_replica_takes(combine, line, tmp_path):
    setup = lifted(minimized_together(combine), tmp_path)
    source = source_of(setup)
    assert "def tower_loss_of_all(losses):" in source.text and line in source.text
    assert "    factor = tf.gradients(tower_loss_of_all(losses), losses)[scope.replica]" in source.text
    assert_trains_alike(setup, tmp_path, source)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))


def test_another_loss_of_all_towers_is_seen(tmp_path):
    setup = lifted(minimized_together(third_of_the_sum), tmp_path)
    source = source_of(setup, "workload")
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("/ 3.0", "/ 3.00001"))
    assert not other.passed and other.first.stage == "gradients"


def stacked_predictions():
    """One loss of all towers' predictions and labels, which are stacked outside of the towers."""
    xs = split_batch()
    ys = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="y"), TOWERS)
    both = towers(lambda tower: (tf.sigmoid(tf.matmul(xs[tower], weights())), tf.one_hot(ys[tower], 2)))
    loss = tf.nn.l2_loss(tf.stack([one for one, _ in both]) - tf.stack([label for _, label in both]))
    return v1.train.MomentumOptimizer(0.125, 0.5).minimize(loss, var_list=[weights()])


def test_one_loss_of_all_predictions_gathers_the_labels_too(tmp_path):
    setup = lifted(stacked_predictions, tmp_path)
    source = source_of(setup, "workload")
    assert "def tower_loss_of_all(losses, parts):" in source.text and "parts = gather(context, part)" in source.text
    assert "tf.gradients(tower_loss_of_all(losses, parts), losses)" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_port_verified(
        setup, tmp_path, source, changed=lambda text: text.replace("in parts]", "in parts[::-1]]")
    )
    assert not other.passed and other.first.stage == "gradients"


def test_a_penalty_beside_the_towers_losses_is_refused_by_name(tmp_path):
    lift = lifted(
        minimized_together(lambda losses: tf.reduce_mean(tf.concat(losses, 0)) * tf.nn.l2_loss(weights())), tmp_path
    ).job.workload
    with pytest.raises(Unwritten, match="loss of all towers depends on .* besides the towers' losses"):
        loss_of_all_lines(lift.plan, lift.graph, lift.plan.phases[0], "loss_of_all")


@pytest.mark.parametrize(
    "with_penalties",
    [
        lambda loss: loss + 0.25 * tf.nn.l2_loss(weights()),
        lambda loss: tf.add_n([0.25 * tf.nn.l2_loss(weights()), loss, 0.5 * tf.reduce_sum(tf.square(weights()))]),
        lambda loss: tf.identity(0.25 * tf.nn.l2_loss(weights()) + loss) + tf.nn.l2_loss(weights()),
    ],
)
def test_penalties_beside_a_loss_of_all_towers_reach_the_update_alone(with_penalties, tmp_path):
    setup = lifted(minimized_together(lambda losses: with_penalties(third_of_the_sum(losses))), tmp_path)
    source = source_of(setup, "workload")
    assert "    return tf.reduce_sum(tf.concat(losses, axis=0)) / 3.0" in source.text
    assert 'values["net/w"] * 0.25' in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    changed = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("* 0.25", "* 0.26"))
    assert not changed.passed and changed.first.stage == "weights"


@pytest.mark.parametrize("masked", [lambda loss, mask: loss * mask, lambda loss, mask: mask * loss])
def test_a_mask_of_all_towers_examples_is_no_loss(masked, tmp_path):
    """The mean of the losses of all towers' examples whose first number is large."""

    def build():
        xs = split_batch()
        made = towers(lambda tower: (of_each_example(xs[tower]), tf.cast(xs[tower][:, 0] > 0.375, tf.float32)))
        losses, masks = (tf.concat(values, 0) for values in zip(*made))
        loss = tf.reduce_sum(masked(losses, masks)) / tf.maximum(1.0, tf.reduce_sum(masks))
        return v1.train.MomentumOptimizer(0.125, 0.5).minimize(loss, var_list=[weights()])

    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert "def tower_loss_of_all(losses, parts):" in source.text and " > 0.375, tf.float32)" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("> 0.375", "> 0.25"))
    assert not other.passed and other.first.stage == "gradients"


def labels_of_all_towers(joined=False):
    """One loss of all towers' predictions and of the labels of all examples, which no tower has a part of."""
    xs, labels = split_batch(), v1.placeholder(tf.float32, [TOWERS * BATCH, 2], name="y")
    labels = tf.concat(tf.split(labels, TOWERS), 0) if joined else labels
    predictions = towers(lambda tower: tf.sigmoid(tf.matmul(xs[tower], weights())))
    loss = tf.nn.l2_loss(tf.concat(predictions, 0) - labels)
    return v1.train.MomentumOptimizer(0.125, 0.5).minimize(loss, var_list=[weights()])


@pytest.mark.parametrize("joined", [False, True])
def test_labels_that_no_tower_has_a_part_of_are_dealt_out(joined, tmp_path):
    setup = lifted(functools.partial(labels_of_all_towers, joined), tmp_path)
    plan, graph = setup.job.workload.plan, setup.job.workload.graph
    assert [entry.kind for entry in plan.inputs + plan.common if entry.name == "y"] == ["same"]
    dealt, _ = with_dealt_inputs(plan, graph)
    assert [(entry.kind, len(entry.tensors)) for entry in dealt.inputs if entry.name == "y"] == [("batch", TOWERS)]
    source = source_of(setup, "workload")
    assert '"y": InputSpec((2,))' in source.text and "def tower_loss_of_all(losses, parts):" in source.text
    assert '"y": ((2,), tf.float32)' in source_of(setup).text
    assert_port_verified(setup, tmp_path, source)


def test_labels_of_another_tower_are_seen(tmp_path):
    setup = lifted(labels_of_all_towers, tmp_path)

    def exchanged(text):
        assert "tf.concat(parts, axis=0)" in text
        return text.replace("tf.concat(parts, axis=0)", "tf.concat(parts[::-1], axis=0)")

    other = assert_port_verified(setup, tmp_path, source_of(setup, "workload"), changed=exchanged)
    assert not other.passed and other.first.stage == "gradients"


def values_of_examples_in_a_mask():
    xs = split_batch()
    masks = tf.split(v1.placeholder(tf.bool, [TOWERS * BATCH], name="mask"), TOWERS)

    def gradient(tower):
        values = of_each_example(xs[tower])
        return tf.gradients(tf.where(masks[tower], values, tf.zeros_like(values)), [weights()])[0]

    return mean_of(towers(gradient))


def test_truth_values_of_a_batch_are_integers_of_the_ports(tmp_path):
    setup = lifted(values_of_examples_in_a_mask, tmp_path)
    source = source_of(setup, "workload")
    assert 'tf.cast(batch["mask"], tf.bool)' in source.text and '"mask": InputSpec((), "int"' in source.text
    assert_port_verified(setup, tmp_path, source)


def test_a_loss_of_several_values_is_written_with_its_update(tmp_path):
    setup = lifted(values_of_examples, tmp_path)
    source = source_of(setup, "workload")
    assert "  * loss: it has several values, of which the sum is minimized" in source.text
    assert "old graph's bits" in source.text and "(StepWorkload):" in source.text
    assert_port_verified(setup, tmp_path, source)


@pytest.mark.parametrize("reduce", [lambda x: tf.reduce_mean(x, keepdims=True), lambda x: x[1:2]])
def test_a_loss_of_one_value_is_a_scalar_whatever_its_shape(reduce, tmp_path):
    def program():
        xs = split_batch()
        return mean_of(towers(lambda t: tf.gradients(reduce(of_each_example(xs[t])), [weights()])[0]))

    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert "    return tf.squeeze(" in source.text and "Recognised: GradientDescent" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_workload_verified(setup, tmp_path, source, lambda text: text.replace("** 2.0", "** 2.00001"))
    assert not other.passed and other.first.stage == "loss"


def dropped_twice():
    """Dropout of what depends on how many rows dropout left: the shape of later numbers follows from earlier ones."""
    xs = split_batch()

    def gradient(tower):
        kept = tf.nn.dropout(xs[tower], rate=0.5, seed=tower)
        rows = tf.boolean_mask(kept, tf.reduce_sum(kept, 1) > 0.0)
        return tf.gradients(tf.reduce_sum(tf.matmul(tf.nn.dropout(rows, rate=0.5, seed=9), weights())), [weights()])[0]

    return mean_of(towers(gradient))


def test_numbers_whose_shape_follows_from_other_numbers_come_after_them(tmp_path):
    lift = lifted(dropped_twice, tmp_path).job.workload
    (phase,) = lift.plan.phases
    tower = Tower(
        lift.plan, lift.graph, proof_states(lift.plan, lift.values()), {}, [], 1, phase, input_names(lift.plan)
    )
    data = {1: made_up_data(tower, 1)}
    _, noises = old_results(tower, [], data)
    first, second = noises[1].values()
    rows = np.sum(np.sum(np.where(first >= 0.5, data[1]["x"], 0.0), axis=1) > 0.0)
    assert len(data) == 1 and rows > 0 and second.shape == (rows, 3)


def test_an_input_that_is_no_batch_has_its_own_first_size():
    """A label of three classes beside six time slices, which are one example."""
    label = Input("y", "int32", [3], "whole", 0, ["y:0", "y1:0"], "y")
    slices = Input("x", "float32", [None, 2], "batch", 0, ["x:0", "x1:0"], "x")
    plan = types.SimpleNamespace(inputs=[slices, label], common=[], batch=6, towers=2)
    data = made_up_data(Tower(plan, None, [], {}, [], 0, None, {}), 0)
    assert {name: array.shape for name, array in data.items()} == {"x": (6, 2), "y": (3,)}
    words = Input("words", "string", [None], "batch", 0, ["w:0", "w1:0"], "words")
    plan.inputs.append(words)
    with pytest.raises(Unwritten, match="'words' holds texts, which cannot be made up"):
        made_up_data(Tower(plan, None, [], {}, [], 0, None, {}), 0)


def test_towers_that_share_an_input_get_the_first_ones_values():
    data = {tower: {"x": np.full(2, tower), "s": np.full(2, tower)} for tower in range(TOWERS)}
    own = Input("x", "float32", [None], "batch", 0, ["x:0", "x:1"], "x")
    shared = Input("s", "float32", [None], "same", 0, ["s:0", "s:0"], "s")
    assert [value_of(own, tower, data)[0] for tower in data] == [0, 1]
    assert [value_of(shared, tower, data)[0] for tower in data] == [0, 0]
