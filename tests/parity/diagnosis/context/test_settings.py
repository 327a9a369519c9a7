"""Settings of two programs, and a recording's job against this one."""

import dataclasses

import pytest

from parity.diagnosis.context import settings
from tests.cases import Everything
from workloads.job import Job
from workloads.support.errors import InputError


def test_settings_that_differ():
    assert settings.differences({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == [
        ("b", "2", "3"),
        ("c", "-", "4"),
    ]
    assert settings.differences({"a": "1"}, {"a": "1"}) == []


def test_a_recording_of_another_job_is_refused():
    job = Job(Everything())
    settings.require_same_job(job.describe(), job)
    with pytest.raises(InputError, match="seed is 0 in the recording and 1 here"):
        settings.require_same_job(job.describe(), Job(Everything(), seed=1))


def test_another_workload_is_named_first_and_further_differences_are_counted():
    other = {name: "other" for name in Job(Everything()).describe()}
    with pytest.raises(InputError) as refusal:
        settings.require_same_job(other, Job(dataclasses.replace(Everything(), name="mine")))
    message = str(refusal.value)
    assert message.startswith(
        "--recording: made by another job: workload.name is other in the recording and 'mine' here;"
    )
    assert message.endswith(f"; and {len(other) - settings.MOST_LISTED} more")
