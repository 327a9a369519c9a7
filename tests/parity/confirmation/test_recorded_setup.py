"""Jobs of recordings: built-in workloads whose description is the recording's."""

import dataclasses

import pytest

from parity.confirmation.recorded_setup import job_of_settings, setup_of_recordings
from workloads import optimizers, schedules
from workloads.job import Job
from workloads.selection import registry
from workloads.workload import Clip, MovingAverage


def regression(**fields):
    return Job(dataclasses.replace(registry.get("regression"), **fields), replicas=3, seed=4)


@pytest.mark.parametrize(
    "job",
    [
        regression(),
        regression(optimizer=optimizers.Momentum(0.8), clip=Clip(2.0, "combined"), combine="sum"),
        regression(learning_rate=schedules.PiecewiseConstant((3,), (0.1, 0.01)), moving_average=MovingAverage(0.9)),
    ],
)
def test_a_built_in_workload_is_found_again_with_its_fields(job):
    assert job_of_settings(job.describe()) == job


@pytest.mark.parametrize(
    "changed",
    [
        {"workload.name": "'another'"},
        {"data": "files"},
        {"workload.optimizer": "NoSuchOptimizer()"},
        {"replicas": "many"},
        {"staleness": "1"},
        {"one more": "field"},
    ],
)
def test_any_other_job_is_not_run_here(changed):
    assert job_of_settings({**regression().describe(), **changed}) is None


def test_a_recording_from_elsewhere_has_no_job():
    assert job_of_settings({}) is None


class Recording:
    def __init__(self, job, rules="tf1"):
        self.manifest, self._rules = {"job": job}, rules

    def describe(self):
        return {"update rules": self._rules}


def test_the_right_recordings_update_rules_decide_what_rounding_may_be():
    job = regression().describe()
    for rules, expected in (("keras 3: Adam", "keras"), ("tf1: kernels", "tf1")):
        assert setup_of_recordings(Recording(job), Recording(job, rules)).modern.update_rules == expected
    assert setup_of_recordings(Recording({}), Recording(job)) is None
