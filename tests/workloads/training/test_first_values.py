"""First values of a native job and of a lift, in the order of the model."""

from __future__ import annotations

import pytest

from tests.cases import Everything
from tests.small_lift import START, small_job
from workloads.job import Job
from workloads.training.first_values import first_values


def test_a_native_jobs_values_are_those_that_it_starts_with():
    found = first_values(Job(Everything(), 2, 16))
    assert list(found.weights)[0] == "first/weights" and found.weights["last/biases"].tolist() == [0, 0, 0]
    assert set(found.statistics) == {"norm/moving_mean", "norm/moving_variance"}


def test_a_lifts_values_are_those_of_its_checkpoint(tmp_path):
    found = first_values(small_job(str(tmp_path / "lift")))
    assert found.weights == {"w": pytest.approx(START)} and found.statistics == {}
