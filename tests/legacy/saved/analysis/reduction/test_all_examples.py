"""Sums over a tower's examples that the number of all towers' examples divides: their gradients add up to a mean's."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.analysis.reduction.all_examples import AllExamples
from legacy.saved.analysis.reduction.growth import Growth
from tests.legacy.saved.facts.tower_pages import analysed_step, mean, parts, program, variable
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.reduction_factors import rescaling


def combined(loss, combine=tf.add_n):
    """How a program of two towers with three examples each combines the gradients of its weight."""

    def build():
        x = parts("x", 6, 3)
        program(lambda tower: loss(tf.square(tf.matmul(x(tower), variable("w", 3, 2)))), combine=combine)()

    (phase,) = analysed_step(build).plan.phases
    return phase.combine[0]


@pytest.mark.parametrize(
    "loss, combine",
    [
        (lambda losses: tf.reduce_sum(losses) / 6.0, tf.add_n),
        (lambda losses: tf.reduce_sum(losses) * (1.0 / 6.0), tf.add_n),
        (lambda losses: tf.reduce_sum(losses) / 6.0 + tf.reduce_sum(tf.sqrt(losses)) / 6.0, tf.add_n),
        (lambda losses: tf.nn.l2_loss(losses) / 6.0, tf.add_n),
        (lambda losses: tf.reduce_sum(losses), lambda gradients: tf.add_n(gradients) / 6.0),
    ],
)
def test_sums_that_all_examples_divide_make_a_mean(loss, combine):
    found = combined(loss, combine)
    assert (found.kind, found.divided) == ("sum", True)
    assert rescaling(found, 1.0, towers=2, replicas=4) == 0.5


@pytest.mark.parametrize(
    "loss, combine",
    [
        (lambda losses: tf.reduce_sum(losses), tf.add_n),
        (lambda losses: tf.reduce_sum(losses) / 3.0, tf.add_n),  # a mean of the tower's own
        (lambda losses: tf.reduce_mean(losses) / 6.0, tf.add_n),  # a weight of a mean
        (lambda losses: tf.reduce_mean(losses) / 6.0 + tf.reduce_sum(losses) / 6.0, tf.add_n),
        (lambda losses: tf.reduce_sum(losses) / 6.0 + tf.nn.l2_loss(variable("w", 3, 2)), tf.add_n),
        (lambda losses: tf.reduce_mean(losses), lambda gradients: tf.add_n(gradients) / 6.0),
    ],
)
def test_other_sums_stay_sums_at_any_number_of_replicas(loss, combine):
    found = combined(loss, combine)
    assert (found.kind, found.divided) == ("sum", False)
    assert rescaling(found, 1.0, towers=2, replicas=4) == 1.0


def test_a_mean_of_divided_sums_stays_one():
    found = combined(lambda losses: tf.reduce_sum(losses) / 6.0, mean)
    assert (found.kind, found.divided) == ("mean", False)
    assert rescaling(found, 1.0, towers=2, replicas=4) == 1.0


@pytest.mark.parametrize("count, divided", [(6, True), (3, False), (2, False)])
def test_the_divisor_is_the_number_of_all_examples(count, divided):
    def build():
        x = parts("x", 6, 3)
        losses = lambda tower: tf.square(tf.matmul(x(tower), variable("w", 3, 2)))  # noqa: E731
        program(lambda tower: tf.reduce_sum(losses(tower)) / 6.0, combine=tf.add_n)()

    step = analysed_step(build)
    graph, imported, data = step.graph, step.imported, step.context.data
    examples = AllExamples(graph, imported, data, Growth(graph, imported, data, 3), count)
    (phase,) = step.plan.phases
    losses = [parse_tensor_name(name) for name in phase.losses]
    (made,) = examples.with_divided([dataclasses.replace(phase.combine[0], divided=False)], losses)
    assert made.divided == divided
