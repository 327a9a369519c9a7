"""Visits of programs that change variables in branches: of overflowing gradients, and of the counts that decide."""

import types

import numpy as np
import pytest
import tensorflow as tf

from parity.comparison.result import Verdict
from parity.comparison.tour import Visit
from parity.coverage.visits import lifted_visits
from parity.coverage.visits.branch_visits import (
    Deciders,
    before_numbers,
    find_deciders,
    in_other_branches,
    overflowing,
)
from parity.coverage.visits.counted_numbers import numbers_beside, scalar_value
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from tests.legacy.source import conditional
from tests.legacy.variants.programs import gradient_of, lifted, mean_of, plain, split_batch, towers, weights
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Variable
from workloads.program import State

v1 = tf.compat.v1
COUNT = Variable("count", [], "int32", "statistic")
SCALE = Variable("scale", [], "float32", "statistic")


def last_state():
    statistics = {"count": np.asarray(20, np.int32), "scale": np.float32(8)}
    return State(5, {"w": np.float32([1, 2])}, {}, statistics, {})


@conditional.with_old_cond
def scaled_loss_of_a_short_run():
    """A loss scale that no gradient of the first steps overflows with."""
    scale = plain("scale", [], 1024.0)
    gradient = conditional.mean_gradient(scale)
    return v1.cond(
        conditional.all_finite(gradient),
        lambda: v1.group(conditional.momentum(gradient)),
        lambda: v1.group(v1.assign(scale, scale / 2.0)),
    ).op


@conditional.with_old_cond
def decayed_every_third_step():
    """A rate that falls for ten counts, for a rule that was written by hand in a branch of every third step."""
    steps, gradient = conditional.counter("global_step"), conditional.mean_gradient()
    runs = v1.assign_add(steps, 1)
    rate = 0.25 * (1.0 - tf.minimum(tf.cast(steps, tf.float32), 10.0) / 10.0)
    return v1.cond(
        tf.equal(runs % 3, 0), lambda: v1.group(v1.assign_sub(weights(), rate * gradient)), lambda: v1.no_op()
    ).op


def test_a_program_without_branches_has_no_deciders(tmp_path):
    def build():
        xs = split_batch()
        return mean_of(towers(lambda tower: gradient_of(xs[tower])))

    assert find_deciders(lifted(build, tmp_path).job.workload) is None


def test_the_deciders_of_a_loss_scale_and_of_a_count(tmp_path):
    found = find_deciders(lifted(conditional.scaled_loss, tmp_path / "scale").job.workload)
    assert [v.name for v in found.scales] == ["scale"] and found.ask_finite
    assert [v.name for v in found.counters] == ["good"] and found.period == 2 and found.numbers == [2]
    found = find_deciders(lifted(decayed_every_third_step, tmp_path / "third").job.workload)
    assert not found.ask_finite and found.period == 3 and [v.name for v in found.counters] == ["global_step"]
    assert not found.scales


def replaced(replace):
    """Gradient descent, of gradients that `replace` has changed."""

    def build():
        xs = split_batch()
        mean = tf.add_n(towers(lambda tower: gradient_of(xs[tower]))) / 2.0
        return v1.train.GradientDescentOptimizer(0.25).apply_gradients([(replace(mean), weights())])

    return build


def finite_or_zero(gradient):
    return tf.where(tf.math.is_finite(gradient), gradient, tf.constant(0.0, shape=gradient.shape))


@pytest.mark.parametrize(
    "replace, asks",
    [
        (finite_or_zero, True),
        (lambda gradient: gradient * 2.0, False),
        (lambda gradient: finite_or_zero(v1.check_numerics(gradient, "not finite")), False),  # others end the step
    ],
)
def test_gradients_that_are_replaced_unless_finite_are_made_to_overflow(replace, asks, tmp_path):
    found = find_deciders(lifted(replaced(replace), tmp_path).job.workload)
    assert (found is not None and found.ask_finite) is asks


def test_counts_move_to_where_a_remainder_changes():
    found = list(in_other_branches(Visit("v", last_state()), Deciders([COUNT], [3], [3], 3, [], False)))
    assert [visit.name for visit in found] == ["v, count at 20", "v, count at 18", "v, count at 19"]
    assert [visit.state.statistics["count"].dtype for visit in found] == [np.int32] * 3
    assert not list(in_other_branches(Visit("v", last_state()), Deciders([COUNT], [3], [3], 1, [], False)))


def test_counts_move_to_where_half_of_a_period_ends():
    found = list(in_other_branches(Visit("v", last_state()), Deciders([COUNT], [4, 12], [4, 12], 12, [], False)))
    assert [int(visit.state.statistics["count"]) - 12 for visit in found] == [11, 0, 1, 2, 5, 6]


def test_gradients_overflow_by_their_scale_or_by_the_weights():
    deciders = Deciders([], [], [], 1, [SCALE], True)
    largest, steep, near = overflowing(last_state(), deciders)
    assert largest.state.statistics["scale"] == np.finfo(np.float32).max and largest.state.weights["w"][0] == 1.0
    assert steep.state.weights["w"][1] == 2048.0
    assert near.state.statistics["scale"] == 1.0 and near.state.weights["w"][0] == np.float32(2.0**100)
    assert near.name == "weights near the largest number, scale at 1"
    assert not list(overflowing(last_state(), deciders._replace(ask_finite=False)))


def test_counts_move_to_one_before_the_numbers_they_are_compared_with():
    deciders = Deciders([COUNT], [2, 10], [], 1, [], True)
    found = list(before_numbers(Visit("v", last_state()), deciders))
    assert [visit.name for visit in found] == ["v, count at 1", "v, count at 9"]
    assert [int(visit.state.statistics["count"]) for visit in found] == [1, 9]
    assert not list(before_numbers(Visit("v", last_state()), deciders._replace(counters=[])))


@conditional.with_old_cond
def scale_that_waits():
    """A loss scale that falls at the third overflow and grows as long as it stays finite, as mixed precision has it."""
    scale, overflows = plain("scale", [], 128.0), conditional.counter("overflows")
    gradient = conditional.mean_gradient(scale)

    def grow():
        larger = tf.where(v1.is_finite(scale * 2.0), scale * 1.5, scale)
        return v1.group(conditional.momentum(gradient), v1.assign(scale, larger), v1.assign(overflows, 0))

    def wait():
        fall = lambda: v1.group(v1.assign(scale, scale * 0.75))  # noqa: E731
        due = tf.greater_equal(overflows + 1, 3)
        return v1.group(v1.cond(due, fall, lambda: v1.group(v1.assign_add(overflows, 1))))

    return v1.cond(conditional.all_finite(gradient), grow, wait).op


def test_a_scale_that_waits_for_several_overflows_is_exercised(tmp_path, monkeypatch):
    setup = lifted(scale_that_waits, tmp_path)
    plan = ComparisonPlan(3, tolerance_name="exact")
    found = compare_programs(setup, None, plan)
    assert found.verification.verdict is Verdict.PARITY, found.verification.not_shown
    seen = {o.mutant.change for o in found.coverage.outcomes if o.seen}
    assert {"0.75 -> 0.7475", "2 -> 1.70141e+38"} <= seen
    monkeypatch.setattr(lifted_visits, "before_numbers", lambda visit, deciders: ())
    without = compare_programs(setup, None, plan)
    missing = {o.mutant.change for o in without.coverage.outcomes if o.is_missing}
    assert without.verification.verdict is Verdict.NOT_SHOWN and "0.75 -> 0.7475" in missing


def test_the_numbers_that_a_counter_meets(tmp_path):
    workload = lifted(decayed_every_third_step, tmp_path).job.workload
    assert numbers_beside(workload.plan, workload.graph, {"global_step"}) == [3, 10]
    assert numbers_beside(workload.plan, workload.graph, set()) == []


def test_the_count_from_which_a_cycle_begins_again():
    with tf.Graph().as_default() as built:
        place = v1.placeholder(tf.int64, [], "place")
        tf.math.floormod(place + 4, 16)
    plan = types.SimpleNamespace(aliases={"place:0": "place"})
    assert numbers_beside(plan, Graph(built.as_graph_def()), {"place"}) == [4, 12, 16]


def test_a_constant_that_is_no_finite_scalar_is_no_number():
    with tf.Graph().as_default() as built:
        for name, value in {"three": 3, "nan": float("nan"), "two": [1.0, 2.0]}.items():
            tf.constant(value, name=name)
    graph = Graph(built.as_graph_def())
    assert [scalar_value(graph, name) for name in ("three", "nan", "two")] == [3.0, None, None]


def target_set(choose):
    """Plain descent, and a copy of the weights that `choose(is_due, copied, kept)` changes at every fortieth step."""
    copy = plain("copy", [3, 2])
    count = conditional.counter("global_step")
    with tf.control_dependencies([v1.assign_sub(weights(), 0.25 * conditional.mean_gradient())]):
        due = tf.equal(v1.assign_add(count, 1) % 40, 0)
    return choose(due, copy)


@conditional.with_old_cond
def target_in_a_branch():
    copied = lambda copy: v1.group(v1.assign(copy, weights().read_value()))  # noqa: E731
    return target_set(lambda due, copy: v1.cond(due, lambda: copied(copy), lambda: v1.no_op()).op)


def target_by_a_choice():
    def chosen(due, copy):
        with tf.control_dependencies([due]):
            return v1.assign(copy, tf.where(due, weights().read_value(), copy.read_value())).op

    return target_set(chosen)


@pytest.mark.parametrize("build", [target_in_a_branch, target_by_a_choice])
def test_the_steps_of_a_target_network_are_exercised(build, tmp_path):
    found = compare_programs(lifted(build, tmp_path), None, ComparisonPlan(4, tolerance_name="exact"))
    assert found.verification.verdict is Verdict.PARITY, found.verification.not_shown
    seen = {(o.mutant.name, o.mutant.change): o.place for o in found.coverage.outcomes if o.seen}
    assert "global_step at" in seen["change of copy", "left out"]
    changes = {change: place for (_, change), place in seen.items() if change.startswith("40 -> ")}
    assert set(changes) == {"40 -> 39", "40 -> 41", "40 -> 20"} and all(changes.values())


@pytest.mark.parametrize("build", [scaled_loss_of_a_short_run, decayed_every_third_step, target_in_a_branch])
def test_both_branches_are_shown_by_visits_only(build, tmp_path):
    setup = lifted(build, tmp_path)
    found = compare_programs(setup, None, ComparisonPlan(4, tolerance_name="exact"))
    assert found.verification.verdict is Verdict.PARITY, found.verification.not_shown
    without = compare_programs(setup, None, ComparisonPlan(4, tolerance_name="exact", with_visits=False))
    assert without.verification.verdict is Verdict.NOT_SHOWN
