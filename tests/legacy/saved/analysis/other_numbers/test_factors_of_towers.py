"""Learning rates that a program multiplies by the number of its towers, and other factors of the same size."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.analysis.other_numbers.factors_of_towers import factors_of_towers
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.report.page import inspect_graph
from tests.legacy.saved.analysis.other_numbers.built import in_towers, lift_of, parts, results, trained, variable
from tests.legacy.variants.programs import setup_of

v1 = tf.compat.v1


def program(make_rate, biases_alone=False):
    """A program of averaged gradients and a schedule, `make_rate(step, towers)`, for weights and a bias."""

    def build(towers):
        xs, step = parts(towers), v1.train.get_or_create_global_step()
        w, b = variable("w", [3, 2]), variable("b", [2])
        losses = in_towers(towers, lambda tower: tf.reduce_mean((results(xs[tower]) + b) ** 2))
        gradients = [tf.add_n(own) / towers for own in zip(*[tf.gradients(loss, [w, b]) for loss in losses])]
        rate = make_rate(step, towers)
        base = v1.train.exponential_decay(0.1, step, 10, 0.5) if biases_alone else rate
        first = v1.train.GradientDescentOptimizer(base).apply_gradients([(gradients[0], w)], global_step=step)
        second = v1.train.GradientDescentOptimizer(rate).apply_gradients([(gradients[1], b)])
        return tf.group(first, second, name="train")

    return build


def decayed(step):
    return v1.train.exponential_decay(0.0625, step, 10, 0.5)


@pytest.mark.parametrize(
    "make_rate, factors, towers",
    [
        (lambda step, towers: tf.multiply(decayed(step), towers, name="scaled"), ["scaled"], 2),
        (lambda step, towers: tf.multiply(decayed(step), towers, name="scaled"), ["scaled"], 3),
        (lambda step, towers: tf.divide(decayed(step), towers, name="shared"), ["shared"], 2),
        (lambda step, towers: decayed(tf.multiply(step, towers, name="examples")), ["examples"], 2),
        (lambda step, towers: decayed(step) * 4.0, [], 2),
        (lambda step, towers: decayed(step) * 2.0, [], 3),
        (lambda step, towers: 0.5 * (1.0 + tf.cos(decayed(step))), [], 2),  # half of it: a cosine's decay
        (lambda step, towers: tf.multiply(0.0625, tf.cast(towers, tf.float32), name="counted"), ["counted"], 2),
        (lambda step, towers: tf.constant(0.0625 * towers), [], 2),  # the graph does not tell
    ],
)
def test_a_factor_of_as_many_as_there_are_towers_is_found(make_rate, factors, towers, tmp_path):
    plan = setup_of(lift_of(program(make_rate), towers, tmp_path / "program")).job.workload.plan
    assert plan.factors_of_towers == factors


def test_a_factor_of_one_rate_alone_is_a_ratio_of_rates(tmp_path):
    build = program(lambda step, towers: decayed(step) * 2.0, biases_alone=True)
    assert not setup_of(lift_of(build, 2, tmp_path / "program")).job.workload.plan.factors_of_towers


@pytest.mark.parametrize(
    "make_loss, factors",
    [
        (lambda loss, tower: tf.multiply(loss, 2.0, name="twice"), ["tower_0/twice", "tower_1/twice"]),
        (lambda loss, tower: tf.identity(0.25 * (2.0 * loss)), ["tower_0/mul", "tower_1/mul"]),
        (lambda loss, tower: 0.25 * loss, []),
        (lambda loss, tower: 2.0 * loss + tf.sqrt(loss), []),  # of a term, as any weight of it
    ],
)
def test_a_factor_of_whole_losses_is_found(make_loss, factors, tmp_path):
    def build(towers):
        xs = parts(towers)
        return trained(in_towers(towers, lambda tower: make_loss(tf.reduce_mean(results(xs[tower]) ** 2), tower)))

    assert setup_of(lift_of(build, 2, tmp_path / "program")).job.workload.plan.factors_of_towers == factors


@pytest.mark.parametrize("scaled", [True, False])
def test_page_and_verdict_name_the_factor_that_stays(scaled, tmp_path):
    def make_rate(step, towers):
        return tf.multiply(decayed(step), towers if scaled else 8.0, name="scaled")

    out = lift_of(program(make_rate), 2, tmp_path / "program")
    watched = [row["what"] for row in inspect_graph(str(tmp_path / "program" / "graph.meta"), ["train"])["watch"]]
    assert (
        any(
            "a factor of 2 in learning rates or losses (scaled) may be the number of towers" in text for text in watched
        )
        == scaled
    )
    text = "those of the graph, for 2 towers" + ("; the factor 2 of scaled" if scaled else "")
    for replicas, expected in ((4, text), (2, None)):
        setup = dataclasses.replace(setup_of(out, replicas), replicated=True)
        with setup.legacy_program() as towers:
            assert towers.describe().get("constants") == expected


def test_one_tower_has_no_number_of_towers(tmp_path):
    workload = setup_of(
        lift_of(program(lambda step, towers: decayed(step) * 2.0), 2, tmp_path / "program")
    ).job.workload
    imported = ImportedGraph(workload.graph)
    assert len(factors_of_towers(workload.plan, workload.graph, imported)) == 1
    alone = dataclasses.replace(workload.plan, towers=1)
    assert factors_of_towers(alone, workload.graph, imported) == []
