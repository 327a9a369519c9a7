"""Clipped gradients, gradient penalties and towers' losses that no update uses, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.unused import losses_of_other_towers, unused_clipping, unused_gradient_penalty
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(build):
    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


def model():
    w = v1.get_variable("w", [4, 1], use_resource=False)
    return w, v1.placeholder(tf.float32, [4, 4], "x")


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("used", [True, False])
def test_clipping_that_no_update_uses_is_named(used, shown):
    def build():
        w, x = model()
        gradients = tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])
        clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
        v1.summary.scalar("norm", norm)
        if shown:
            v1.summary.histogram("gradient", clipped[0])
        pairs = zip(clipped if used else gradients, [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs, name="train")

    found = [hazard.id for hazard in unused_clipping(whole_of(build))]
    assert found == ([] if used else ["CLIPPING_UNUSED"])


@pytest.mark.parametrize("bound, count", [(5.0, 1), (1e10, 0)])
@pytest.mark.parametrize("by", ["value", "norm", "global_norm"])
def test_clipping_at_a_bound_that_stands_for_none_is_not(by, bound, count):
    def build():
        w, x = model()
        gradients = tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])
        if by == "value":
            tf.clip_by_value(gradients[0], -bound, bound)
        elif by == "norm":
            tf.clip_by_norm(gradients[0], bound)
        else:
            tf.clip_by_global_norm(gradients, bound)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, [w]), name="train")

    assert [hazard.id for hazard in unused_clipping(whole_of(build))] == ["CLIPPING_UNUSED"] * count


@pytest.mark.parametrize("used", [True, False])
def test_a_penalty_on_derivatives_that_no_loss_contains_is_named(used):
    def build():
        w, x = model()
        value = tf.tanh(x @ w)
        penalty = tf.reduce_mean(tf.square(tf.norm(tf.gradients(value, x)[0], axis=1) - 1.0))
        v1.summary.scalar("penalty", penalty)
        loss = tf.reduce_mean(value) + (penalty if used else 0.0)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = [hazard.id for hazard in unused_gradient_penalty(whole_of(build))]
    assert found == ([] if used else ["GRADIENT_PENALTY_UNUSED"])


@pytest.mark.parametrize("validated", [True, False])
def test_derivatives_that_a_copy_for_evaluation_gives_are_no_penalty(validated):
    """Forces are derivatives of the energy; the copy has examples of its own."""

    def forces_error(w, x):
        energy = tf.reduce_sum(tf.tanh(x @ w))
        return tf.reduce_mean(tf.square(tf.gradients(energy, x)[0] - 1.0))

    def build():
        w, x = model()
        loss = forces_error(w, x)
        forces_error(w, v1.placeholder(tf.float32, [2, 4], "examples_to_validate") if validated else x)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = [hazard.id for hazard in unused_gradient_penalty(whole_of(build))]
    assert found == ([] if validated else ["GRADIENT_PENALTY_UNUSED"])


def test_a_map_of_derivatives_for_each_example_is_no_penalty():
    def build():
        w, x = model()
        value = tf.tanh(x @ w)
        tf.reduce_mean(tf.square(tf.gradients(value, x)[0]), axis=1, name="saliency")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(value), name="train")

    assert list(unused_gradient_penalty(whole_of(build))) == []


def test_losses_beside_those_of_two_towers_are_of_no_tower():
    def build():
        w, x = model()
        losses = []
        for tower, part in enumerate(tf.split(x, 4)):
            with tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(tf.square(part @ w), name="loss"))
        v1.train.GradientDescentOptimizer(0.5).minimize(losses[0] + losses[1], name="train")

    assert list(losses_of_other_towers(whole_of(build))) == []


@pytest.mark.parametrize("minimized, scopes, count", [("last", "tower", 1), ("sum", "tower", 0), ("last", "valid", 0)])
def test_a_tower_whose_loss_is_not_minimized_is_named(minimized, scopes, count):
    def build():
        w, x = model()
        losses = []
        for tower, half in enumerate(tf.split(x, 2)):
            with tf.name_scope(f"{scopes}_{tower}"):
                losses.append(tf.reduce_mean(tf.square(half @ w), name="loss"))
        loss = losses[-1] if minimized == "last" else tf.add_n(losses)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = [hazard.op for hazard in losses_of_other_towers(whole_of(build))]
    assert found == ["tower_0/loss"] * count


@pytest.mark.parametrize(
    "minimized, devices, fed_apart, count",
    [("last", "gpu", False, 1), ("sum", "gpu", False, 0), ("last", "cpu", False, 0), ("last", "gpu", True, 0)],
)
def test_a_tower_that_a_loop_overwrites_is_named_by_its_repeated_scope(minimized, devices, fed_apart, count):
    def build():
        w, x = model()
        halves = [x, v1.placeholder(tf.float32, [4, 4], "evaluated")] if fed_apart else tf.split(x, 2)
        losses = []
        for tower, half in enumerate(halves):
            with tf.device(f"/{devices}:{tower}"), tf.name_scope("net"):
                losses.append(tf.reduce_mean(tf.square(half @ w), name="loss"))
        loss = losses[-1] if minimized == "last" else tf.add_n(losses)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = [hazard.op for hazard in losses_of_other_towers(whole_of(build))]
    assert found == ["net/loss"] * count


@pytest.mark.parametrize("towers, listed_late, count", [(2, False, 1), (3, False, 1), (2, True, 0), (3, True, 0)])
def test_a_tower_whose_list_of_weights_is_empty_is_named(towers, listed_late, count):
    """A list of the trained weights that is made before the first tower's model has none of them."""

    def build():
        x, gradients = v1.placeholder(tf.float32, [6, 4], "x"), []
        for tower, part in enumerate(tf.split(x, towers)):
            with v1.variable_scope("", reuse=tower > 0), tf.name_scope(f"tower_{tower}"):
                weights = v1.trainable_variables()
                w = v1.get_variable("w", [4, 1], use_resource=False)
                loss = tf.add(tf.reduce_mean(tf.square(part @ w)), 0.1 * tf.nn.l2_loss(w), name="loss")
                weights = v1.trainable_variables() if listed_late else weights
                gradients += tf.gradients(loss, weights)
                if not weights:  # TensorFlow 1.4 makes the gradient op of the loss by itself
                    start = tf.ones([], name="gradients/Fill")
                    tf.reshape(start, [], name="gradients/" + loss.op.name + "_grad/Reshape")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(sum(gradients), w)], name="train")

    found = [hazard.op for hazard in losses_of_other_towers(whole_of(build))]
    assert found == ["tower_0/loss"] * count


@pytest.mark.parametrize("of_norm", [True, False])
def test_a_norm_that_is_cut_off_for_a_curve_is_no_clipping(of_norm):
    def build():
        w, x = model()
        gradients = tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])
        if of_norm:
            v1.summary.scalar("norm", tf.minimum(tf.linalg.global_norm(gradients), 10.0))
        else:
            v1.summary.histogram("gradient", tf.clip_by_norm(gradients[0], 10.0))
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, [w]), name="train")

    assert [hazard.id for hazard in unused_clipping(whole_of(build))] == ([] if of_norm else ["CLIPPING_UNUSED"])


def test_an_empty_list_beside_the_trained_weights_is_no_fault():
    """As of the biases of a net that has none."""

    def build():
        x, gradients = v1.placeholder(tf.float32, [6, 4], "x"), []
        for tower, part in enumerate(tf.split(x, 2)):
            with v1.variable_scope("", reuse=tower > 0), tf.name_scope(f"tower_{tower}"):
                w = v1.get_variable("w", [4, 1], use_resource=False)
                loss = tf.reduce_mean(tf.square(part @ w), name="loss")
                gradients += tf.gradients(loss, [w])
                start = tf.ones([], name="gradients_1/Fill")  # as TensorFlow 1.4 does
                tf.reshape(start, [], name="gradients_1/" + loss.op.name + "_grad/Reshape")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(sum(gradients), w)], name="train")

    assert list(losses_of_other_towers(whole_of(build))) == []
