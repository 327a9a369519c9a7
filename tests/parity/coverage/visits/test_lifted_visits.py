"""The states that a lifted program is visited in: its counters, whatever their dtype, near the schedule's numbers."""

import numpy as np
import pytest

from parity.coverage.visits.job_visits import CoverageState
from parity.coverage.visits.lifted_visits import visits_of_lift
from tests.small_lift import small_lift
from workloads.lifted.plan import Effect, Variable
from workloads.program import State

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
    assert [int(value) for value in found] == ([349, 350, 351, 1000, 100000, 10000000] if counts else [])
    assert all(value.dtype == dtype for value in found)


def test_statistics_are_halved_and_counters_are_not(tmp_path):
    """A frozen variable, which no op changes, is not either: its average would move towards nothing else."""
    workload = small_lift(str(tmp_path / "lift"))
    names = ("count", "steps", "mean", "hidden", "frozen")
    dtypes = dict.fromkeys(names, "float32") | {"steps": "int64"}
    roles = dict.fromkeys(names, "statistic") | {"hidden": "state"}
    workload.plan.variables += [Variable(name, [], dtypes[name], roles[name]) for name in names]
    workload.plan.phases[0].effects.append(Effect("counted", "AssignAdd", ["count"], ["rate:0"]))
    workload.plan.phases[0].effects.append(Effect("moved", "Assign", ["mean"], ["rate:0"]))
    last = State(4, {"w": np.float32(2)}, {}, {name: np.asarray(4, dtypes[name]) for name in names}, {"a": np.ones(2)})
    (visit,) = [visit for visit in visits_of_lift(workload, [], last, COVERAGE) if "halved" in visit.name]
    assert visit.state.statistics == {"count": 4, "steps": 4, "mean": 2, "hidden": 4, "frozen": 4}
    assert visit.state.averages["a"].tolist() == [0.5, 0.5] and visit.state.weights == last.weights
