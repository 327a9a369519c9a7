"""Small factors are found: in one tensor's worst element they would be lost."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.experiments import detection_limits
from parity.experiments.detection_limits import is_error_detected, search_smallest
from tests.parity.step_records import made_up_state, step_record
from workloads.job import Job
from workloads.selection import registry


def job(dtype):
    return Job(registry.get("regression"), 2, dtype=dtype)


@pytest.mark.parametrize("dtype, e", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("stage", [stages.GRADIENTS, stages.COMBINED])
def test_a_factor_of_all_gradients_is_found(stage, dtype, e):
    assert is_error_detected(job(dtype), stage, e)


def test_a_factor_below_rounding_is_not():
    assert not is_error_detected(job("float32"), stages.GRADIENTS, 1e-14)


def test_a_stage_that_a_workload_lacks_is_not_measured():
    assert is_error_detected(job("float32"), stages.STATISTICS, 0.1) is None


@pytest.mark.parametrize("stage", [stages.LOSS, stages.RATE, stages.WEIGHTS])
def test_a_tenth_is_found_in_the_other_stages_too(stage):
    assert is_error_detected(job("float32"), stage, 0.1)


def test_a_state_has_a_stage_unless_that_part_is_empty():
    state = made_up_state(slots={"w/momentum": [1.0]})
    assert detection_limits.has_stage(state, stages.SLOTS) and detection_limits.has_stage(state, stages.GRADIENTS)
    assert not detection_limits.has_stage(state, stages.STATISTICS)
    assert not detection_limits.has_stage(state, stages.AVERAGES)


def test_every_part_of_a_record_can_be_scaled():
    record = step_record(losses=[2.0], state=made_up_state({"w": [4.0]}, {"w/momentum": [8.0]}))
    changes = detection_limits.scale_changes(0.5)
    for stage in (stages.LOSS, stages.WEIGHTS, stages.SLOTS):
        (change,) = changes[stage].records
        change(record)
    assert record.losses == [3.0] and record.losses[0].dtype == np.float32
    assert record.state.weights["w"] == [6.0] and record.state.slots["w/momentum"] == [12.0]


@pytest.mark.parametrize("limit, smallest", [(1e-5, 1e-5), (0.3e-5, 0.3e-5), (0.2e-5, 0.3e-5), (1e-16, 1e-16)])
def test_the_search_finds_the_smallest_of_its_grid(limit, smallest):
    assert search_smallest(lambda error: error >= limit * (1 - 1e-9)) == pytest.approx(smallest)


def test_the_search_measures_nothing_where_there_is_nothing():
    assert search_smallest(lambda error: None) is None
