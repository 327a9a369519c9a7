"""The recording commands' flags: a recording of the steps that they ask for, and refusals before any work."""

import functools

import pytest

from tests.own_flags import own_flags, set_flags
from workloads.records.reader import Recording
from workloads.support.errors import InputError

with own_flags() as FLAGS:
    from legacy import record as legacy_record
    from modern import record as modern_record
    from workloads.records import flags as record_flags


@pytest.mark.parametrize(
    "values, message",
    [({}, "--out: got None, name the file to write"), ({"out": "x.npz", "steps": 0}, "--steps: got 0, must be")],
)
@pytest.mark.parametrize("main", [legacy_record.main, modern_record.main])
def test_what_cannot_be_recorded_is_refused_before_any_work(main, values, message):
    with set_flags(FLAGS, **values), pytest.raises(InputError, match=message):
        main()


def test_a_recording_has_the_steps_that_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(record_flags.environment, "prepare", lambda exact: None)  # this process is prepared already
    path = str(tmp_path / "run.npz")
    with set_flags(FLAGS, out=path, steps=2, workload="regression", device="cpu"):
        monkeypatch.setattr(record_flags.job_flags, "FLAGS", FLAGS)
        monkeypatch.setattr(legacy_record.legacy_flags, "FLAGS", FLAGS)
        make_program = functools.partial(legacy_record.legacy_flags.program_from_flags, exact=True)
        assert record_flags.record_from_flags(make_program) == 0
    with Recording(path) as recording:
        assert recording.manifest["job"]["workload.name"] == "'regression'"
        assert [recording.step().step for _ in range(2)] == [0, 1]
