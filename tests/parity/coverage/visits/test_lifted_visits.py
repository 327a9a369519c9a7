"""The states that a lifted program is visited in: its counters, whatever their dtype, near the schedule's numbers."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.visits.job_visits import CoverageState
from parity.coverage.visits.lifted_visits import visits_of_lift
from tests.legacy.variants.programs import lifted, plain, split_batch, sum_of_squares, towers, weights
from tests.small_lift import small_lift
from workloads.lifted.plan import Effect, Variable
from workloads.program import State

v1 = tf.compat.v1
COVERAGE = CoverageState(lambda: True, lambda exposure: False, lambda step: False, lambda: True)


@pytest.mark.parametrize(
    "dtype, op, counts",
    [
        ("int64", "AssignAdd", True),
        ("float32", "AssignAdd", True),  # get_variable makes a float where nothing else is said
        ("float32", "Assign", False),
        ("float32", "AssignSub", False),
    ],
)
def test_a_variable_that_steps_only_add_to_is_set_near_the_numbers_of_the_schedule(dtype, op, counts, tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    workload.plan.variables.append(Variable("count", [], dtype, "statistic"))
    workload.plan.phases[0].effects.append(Effect("counted", op, ["count"], ["rate:0"]))
    workload.plan.phases[0].effects.append(Effect("moved", "Assign", ["mean"], ["rate:0"]))
    last = State(4, {"w": np.float32(2)}, {}, {"count": np.asarray(4, dtype)}, {})
    counted = [
        visit for visit in visits_of_lift(workload, [350], last, COVERAGE) if "the graph's own count" in visit.name
    ]
    found = [visit.state.statistics["count"] for visit in counted]
    assert [int(value) for value in found] == ([349, 350, 351, 1000, 100000, 10000000, 0, 175] if counts else [])
    assert all(value.dtype == dtype for value in found)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_number_that_a_counter_cannot_hold_is_not_visited(dtype, tmp_path):
    """As of a schedule that ends at `sys.maxsize`."""
    workload = small_lift(str(tmp_path / "lift"))
    workload.plan.variables.append(Variable("count", [], dtype, "statistic"))
    last = State(4, {"w": np.float32(2)}, {}, {"count": np.asarray(4, dtype)}, {})
    numbers = [350, 2**31 - 2, 2**63 - 1]
    visits = [v for v in visits_of_lift(workload, numbers, last, COVERAGE) if "own count" in v.name]
    found = {int(visit.state.statistics["count"]) for visit in visits}
    assert {349, 350, 351, 2**31 - 3, 2**31 - 2, 2**31 - 1} <= found and max(found) == 2**31 - 1


def test_a_half_that_is_visited_already_is_not_visited_twice(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    workload.plan.variables.append(Variable("count", [], "int64", "statistic"))
    workload.plan.phases[0].effects.append(Effect("counted", "AssignAdd", ["count"], ["rate:0"]))
    last = State(4, {"w": np.float32(2)}, {}, {"count": np.asarray(4)}, {})
    visits = [v for v in visits_of_lift(workload, [3, 8, 16, 2000], last, COVERAGE) if "own count" in v.name]
    found = [int(visit.state.statistics["count"]) for visit in visits]
    assert found[-1] == 0  # the halves 4, 8 and 1000 are among the numbers and the late counts
    assert len(found) == len(set(found)) and {8, 1000} <= set(found[:-1])


def test_statistics_are_halved_and_counters_are_not(tmp_path):
    """A frozen variable, which no op changes, is not either: its average would move towards nothing else."""
    workload = small_lift(str(tmp_path / "lift"))
    names = ("count", "steps", "mean", "hidden", "frozen")
    dtypes = dict.fromkeys(names, "float32") | {"steps": "int64"}
    roles = dict.fromkeys(names, "statistic") | {"hidden": "state"}
    workload.plan.variables += [Variable(name, [], dtypes[name], roles[name]) for name in names]
    workload.plan.phases[0].effects.append(Effect("counted", "AssignAdd", ["count"], ["rate:0"]))
    workload.plan.phases[0].effects.append(Effect("moved", "Assign", ["mean"], ["rate:0"]))
    last = State(
        4,
        {"w": np.float32(2)},
        {},
        {name: np.asarray(4, dtypes[name]) for name in names},
        {"a": np.ones(2), "zeros": np.zeros(2)},
    )
    (visit,) = [visit for visit in visits_of_lift(workload, [], last, COVERAGE) if "halved" in visit.name]
    assert visit.state.statistics == {"count": 4, "steps": 4, "mean": 2, "hidden": 4, "frozen": 4}
    assert visit.state.averages["a"].tolist() == [0.5, 0.5] and visit.state.weights == last.weights
    assert visit.state.averages["zeros"].tolist() == [0.01, 0.01]  # half of it would be where it was


def trained_by_a_warm_up(next_count):
    """A program whose learning rate rises for a fifth of 100 steps, counted by `assign(count, next_count(count))`."""

    def build():
        xs, count = split_batch(), plain("count", [])
        part = count / 100.0
        rate = tf.where(part <= 0.2, part / 0.2, 1.0 - part)
        gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
        step = v1.assign(count, next_count(count))
        return tf.group(v1.assign_sub(weights(), rate * tf.add_n(gradients)), step, name="train")

    return build


@pytest.mark.parametrize(
    "next_count, counts",
    [
        (lambda count: count + 1.0, [19, 20, 21, 99, 100, 101, 1e3, 1e5, 1e7, 0, 10, 50]),
        (lambda count: count + count, []),
        (lambda count: 1.0 - count, []),
    ],
)
def test_a_counter_that_is_assigned_is_set_near_the_parts_of_the_schedule(next_count, counts, tmp_path):
    setup = lifted(trained_by_a_warm_up(next_count), tmp_path)
    with setup.legacy_program() as program:
        visits = list(visits_of_lift(setup.job.workload, [], program.state(), COVERAGE))
    assert [float(v.state.statistics["count"]) for v in visits if "own count" in v.name] == counts


def decayed_by_examples():
    """A program whose learning rate decays after every 400 examples, of which a step has 8."""
    xs, count = split_batch(), plain("count", [])
    rate = v1.train.exponential_decay(0.25, count * 8.0, 400, 0.5, staircase=True)
    gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
    step = v1.assign_add(count, 1.0)
    return tf.group(v1.assign_sub(weights(), rate * tf.add_n(gradients)), step, name="train")


def test_a_counter_is_set_near_the_stairs_of_what_counts_examples(tmp_path):
    setup = lifted(decayed_by_examples, tmp_path)
    with setup.legacy_program() as program:
        visits = list(visits_of_lift(setup.job.workload, [8, 400], program.state(), COVERAGE))
    counts = {float(v.state.statistics["count"]) for v in visits if "own count" in v.name}
    assert {49, 50, 51, 99, 100, 101} <= counts


def test_every_second_weight_is_set_to_zero_and_near_zero(tmp_path):
    """So that the guards of a ratio of norms act, and the weights have gradients."""
    workload = small_lift(str(tmp_path / "lift"))
    last = State(4, {name: np.full(2, 3.0, np.float32) for name in "abc"}, {}, {}, {})
    visits = [visit for visit in visits_of_lift(workload, [], last, COVERAGE) if visit.name.endswith("zero")]
    found = [{name: float(value[0]) for name, value in visit.state.weights.items()} for visit in visits[-4:]]
    near = 3.0 * 2.0**-60
    assert found == [
        {"a": 0.0, "b": 3.0, "c": 0.0},
        {"a": 3.0, "b": 0.0, "c": 3.0},
        {"a": near, "b": 3.0, "c": near},
        {"a": 3.0, "b": near, "c": 3.0},
    ]
    kernels = State(
        4, {name: np.full([1] * rank, 3.0, np.float32) for name, rank in zip("abcd", (2, 1, 2, 1))}, {}, {}, {}
    )
    apart = [visit for visit in visits_of_lift(workload, [], kernels, COVERAGE) if "every fourth kernel" in visit.name]
    assert [visit.name for visit in apart] == [
        f"every fourth kernel from number {number} {place}"
        for place in ("at zero", "at near zero", "near zero, other weights positive")
        for number in (1, 2)
    ]
    assert {name: float(value.sum()) for name, value in apart[1].state.weights.items()} == dict(
        a=3.0, b=3.0, c=0.0, d=3.0
    )
    one = State(4, {"w": np.float32(3)}, {}, {}, {})
    names = [visit.name for visit in visits_of_lift(workload, [], one, COVERAGE)]
    assert "every second weight at zero" in names and "the other weights at zero" not in names
