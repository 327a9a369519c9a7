"""Sums of gradients over towers, and over runs: what is said of them where losses or sums are scaled."""

import pytest
import tensorflow as tf

from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.sums import sum_text
from legacy.saved.facts.combining.words import combination_text
from tests.legacy.saved.facts.tower_pages import analysed_step, variable

v1 = tf.compat.v1
RUNS = ["zero", "add", "add", "add", "add", "train"]


def step_of_runs(scale, factor, divisor):
    """The analysed step that adds `factor` times the towers' gradients, of losses times `scale`, up over four runs."""

    def build():
        w, kept, gradients = variable("w", 3, 2), variable("kept", 3, 2, trainable=False), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [4, 3], "x") @ w)) * scale
                gradients += tf.gradients(loss, [w])
        v1.assign(kept, tf.zeros([3, 2]), name="zero")
        v1.assign_add(kept, tf.add_n(gradients) * factor if factor != 1.0 else tf.add_n(gradients), name="add")
        gradient = kept / divisor if divisor != 1.0 else kept + 0.0
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    return analysed_step(build, RUNS)


@pytest.mark.parametrize(
    "scale, factor, divisor, kind, sentence",
    [
        (1.0, 1.0, 1.0, "sum", "gradients are summed over towers, not averaged"),
        (1.0, 1.0, 8.0, "sum", ""),
        (1.0, 0.125, 1.0, "sum, scaled by 0.125", "gradients are summed over towers, times 0.125"),
        (
            *(16.0, 1.0 / 128.0, 1.0),
            "sum, scaled by 0.0078125: with the losses' factor of 16, 0.25 of a mean",
            "gradients are summed over towers, times 0.0078125: with the losses' factor of 16, 0.25 of a mean",
        ),
        (16.0, 1.0 / 100.0, 1.0, "sum, scaled by 0.01", "gradients are summed over towers, times 0.01"),
    ],
)
def test_sums_over_towers_and_runs(scale, factor, divisor, kind, sentence):
    step = step_of_runs(scale, factor, divisor)
    (phase,) = [phase for phase in step.phases if phase.combine]
    assert combination_text(step, phase, phase.combine[0]) == kind
    assert sum_text(step, phase) == sentence


def step_of_words(make_loss, combine):
    """The analysed step of towers with `make_loss(sum, number of words)` and `combine(gradients, numbers)`."""

    def build():
        w, gradients, words = variable("w", 3, 2), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = v1.placeholder(tf.float32, [4, 3], "x")
                words.append(tf.reduce_sum(v1.placeholder(tf.float32, [4, 3], "mask")))
                gradients += tf.gradients(make_loss(tf.reduce_sum(tf.square(x @ w)), words[-1]), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients, words), w)], name="train")

    return analysed_step(build)


@pytest.mark.parametrize(
    "make_loss, combine, sentence",
    [
        (
            lambda total, words: total,
            lambda gradients, words: tf.add_n(gradients) / tf.add_n(words, name="all_words"),
            "gradients are summed over towers, and the sums divided by all_words:0, a number that the data give",
        ),
        (
            lambda total, words: total / words,
            lambda gradients, words: tf.add_n([g * n for g, n in zip(gradients, words)]) / tf.add_n(words, name="all"),
            "gradients are changed in their towers (Mul) before they are summed, and the sums divided by all:0, a "
            "number that the data give",
        ),
        (
            lambda total, words: total / words,
            lambda gradients, words: tf.add_n(gradients),
            "gradients are summed over towers, not averaged",
        ),
    ],
)
def test_sums_that_are_divided_by_a_number_of_the_data(make_loss, combine, sentence):
    step = step_of_words(make_loss, combine)
    assert sum_text(step, step.phases[0]) == sentence


def mean_of(make):
    """Makes a combination: the mean of what each tower's `make(gradient, number of words)` gives."""

    def combine(gradients, words):
        made = []
        for tower, (gradient, number) in enumerate(zip(gradients, words)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                made.append(make(gradient, number))
        return tf.reduce_mean(made, 0)

    return combine


@pytest.mark.parametrize(
    "make, are",
    [
        (
            lambda g, words: g * (words / 12.0),
            "mean, of gradients that each tower multiplies by tower_0_1/truediv:0, a number that the data give",
        ),
        (
            lambda g, words: g / words,
            "mean, of gradients that each tower divides by tower_0/Sum:0, a number that the data give",
        ),
        (lambda g, words: g * 0.5, "mean, times 0.5"),
        (lambda g, words: tf.clip_by_norm(g, 1.0), "mean"),  # by a number that the gradient gives
    ],
)
def test_gradients_times_numbers_of_the_data(make, are):
    step = step_of_words(lambda total, words: total, mean_of(make))
    assert [row["are"] for row in combining_rows(step)] == [are]


@pytest.mark.parametrize(
    "total, sentence",
    [
        (
            lambda sums, words: tf.add_n(sums) / tf.add_n(words, name="all_words"),
            "the towers' losses are summed, and the sum divided by all_words:0, a number that the data give",
        ),
        (lambda sums, words: tf.add_n(sums), "gradients are summed over towers, not averaged"),
    ],
)
def test_a_joint_loss_over_all_towers_words(total, sentence):
    def build():
        w, sums, words = variable("w", 3, 2), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                sums.append(tf.reduce_sum(tf.square(v1.placeholder(tf.float32, [4, 3], "x") @ w)))
                words.append(tf.reduce_sum(v1.placeholder(tf.float32, [4, 3], "mask")))
        v1.train.GradientDescentOptimizer(0.5).minimize(
            total(sums, words), colocate_gradients_with_ops=True, name="train"
        )

    step = analysed_step(build)
    assert sum_text(step, step.phases[0]) == sentence


@pytest.mark.parametrize(
    "factor, sentence",
    [
        (0.5, "; each tower's loss, no sum over examples, has a factor of 0.5: if that is one over the towers, "),
        (1.0, ", not averaged"),
    ],
)
def test_sums_of_means_with_a_factor(factor, sentence):
    def build():
        w, gradients = variable("w", 3, 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [None, 3], "x") @ w)) * factor
                gradients += tf.gradients(loss, [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    step = analysed_step(build)
    (phase,) = step.phases
    assert sum_text(step, phase) == f"gradients are summed over towers{sentence}" + "it is a mean" * (factor != 1.0)


def test_what_is_maximized_may_be_divided_by_the_towers():
    def build():
        w, bounds = variable("w", 3, 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                bounds.append(-tf.reduce_mean(tf.exp(v1.placeholder(tf.float32, [4, 3], "x") @ w)))
        loss = -tf.reduce_mean(tf.stack(bounds))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train", colocate_gradients_with_ops=True)

    step = analysed_step(build)
    (phase,) = step.phases
    assert phase.loss_scale == -0.5
    assert combination_text(step, phase, phase.combine[0]) == "sum of losses that are divided by the towers: a mean"


def test_gradients_that_a_program_computes_by_hand_tell_no_loss():
    """As of least squares, whose gradient is x^T (x w - y)."""

    def build():
        w, gradients = variable("w", 3, 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x, y = v1.placeholder(tf.float32, [4, 3], "x"), v1.placeholder(tf.float32, [4, 2], "y")
                gradients.append(tf.matmul(x, x @ w - y, transpose_a=True))
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    step = analysed_step(build)
    (phase,) = step.phases
    assert not phase.losses and sum_text(step, phase) == "gradients are summed over towers, not averaged"
