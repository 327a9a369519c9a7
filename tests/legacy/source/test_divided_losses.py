"""Losses of which a program minimizes the mean over its towers: the source's divisor is the number of replicas."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.source.basics.divided_losses import divided_by_replicas, is_divided_by_replicas, with_divided_losses
from legacy.source.basics.expressions import Infix, Literal, Value
from legacy.source.basics.rendering import expression_text
from parity.against.against_setup import old_graph_of
from parity.comparison import stages
from parity.comparison.runs.verification import verify
from tests.legacy.random_programs.ports import lifted_program
from tests.legacy.random_programs.traits import Traits
from tests.legacy.saved.facts.tower_pages import parts, program, variable
from tests.legacy.source import old_towers
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import lifted
from tests.parity.against.exact_setup import exact_setup_against
from tests.small_lift import small_plan
from workloads.job import Job

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "symbol, right, scale, divided",
    [("/", 2.0, 0.5, True), ("/", 2.0, 1.0, False), ("/", 3.0, 0.5, False), ("*", 2.0, 0.5, False)],
)
def test_only_a_part_of_a_mean_is_divided_by_the_replicas(symbol, right, scale, divided):
    plan = small_plan()
    plan = dataclasses.replace(plan, phases=[dataclasses.replace(plan.phases[0], loss_scale=scale)])
    loss = divided_by_replicas(Infix(symbol, Value("mean"), Literal(right)), plan, plan.phases[0])
    assert plan.towers == 2 and is_divided_by_replicas(loss) == divided


@pytest.mark.parametrize("right, divided", [(8.0, True), (2.0, False), (4.0, False)])
def test_the_number_of_all_examples_follows_the_replicas(right, divided):
    plan = small_plan()
    combine = dataclasses.replace(plan.phases[0].combine[0], kind="sum", divided=True)
    plan = dataclasses.replace(plan, batch=4, phases=[dataclasses.replace(plan.phases[0], combine=[combine])])
    loss = divided_by_replicas(Infix("/", Value("sum"), Literal(right)), plan, plan.phases[0])
    assert plan.towers == 2 and is_divided_by_replicas(loss) == divided
    assert divided == (expression_text(loss.right) == "scope.replicas * batch_size")


def test_a_mean_over_two_towers_stays_one(tmp_path):
    lift = lifted_program(Traits(combine="one loss"), tmp_path, {}).job.workload
    assert with_divided_losses(lift.plan, lift.graph) == (lift.plan, lift.graph)


def sum_over_all_examples():
    """Makes a program of two towers, which add up their examples' losses over all examples; returns the train op."""
    x = parts("x", 8, 3)
    losses = lambda tower: tf.square(tf.matmul(x(tower), variable("w", 3, 2)))  # noqa: E731
    program(lambda tower: tf.reduce_sum(losses(tower)) / 8.0, combine=tf.add_n)()
    return v1.get_default_graph().get_operation_by_name("train")


def test_the_source_of_sums_over_all_examples_is_that_of_any_number_of_replicas(tmp_path):
    setup = lifted(sum_over_all_examples, tmp_path)
    text = source_of(setup, "workload").text
    assert " only: " not in text and "(scope.replicas * batch_size)" in text
    for replicas in (2, 4):
        result = compared(setup, text, replicas, tmp_path)
        assert result.passed, result.first
    constant = text.replace("(scope.replicas * batch_size)", "8.0")
    assert compared(setup, constant, 2, tmp_path).passed
    assert compared(setup, constant, 4, tmp_path).first.stage == stages.COMBINED


@pytest.fixture(params=["losses / towers", "one loss"])
def divided(request, tmp_path):
    """A lift and its source; the towers of "one loss" are three, so that its loss must be divided, too."""
    towers = 3 if request.param == "one loss" else 2
    setup = lifted_program(Traits(towers=towers, combine=request.param), tmp_path, {})
    source = source_of(setup, "workload")
    assert " only: " not in source.text and "scope.replicas" in source.text
    return setup, source.text


def compared(setup, text, replicas, path):
    """The comparison of a source with the old graph's towers, dealt again to a number of replicas."""
    (path / "port.py").write_text(text)
    job = Job(old_towers.load(path / "port.py", "port").PORT, replicas, replicas * setup.job.per_replica_batch)
    both = exact_setup_against(job, old_graph_of(setup.job.workload, job))
    with both.legacy_program() as left, both.modern_program() as right:
        return verify(left, right, job, 3)


def test_the_source_is_that_of_any_number_of_replicas(divided, tmp_path):
    setup, text = divided
    replicas = {2: 4, 3: 6}[setup.job.replicas]
    result = compared(setup, text, replicas, tmp_path)
    assert result.passed, result.first


def test_a_constant_divisor_is_found_at_another_number_of_replicas(divided, tmp_path):
    setup, text = divided
    towers = setup.job.replicas
    text = text.replace("scope.replicas", f"{towers}.0")
    assert compared(setup, text, towers, tmp_path).passed
    assert compared(setup, text, 2 * towers, tmp_path).first.stage == stages.COMBINED
