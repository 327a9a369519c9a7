"""The left side as a recording: of the same job, long enough, and made once."""

import pytest

from parity.verdict import left_side
from tests.cases import Dyadic, setup
from workloads.records.record_program import record_program
from workloads.support.errors import InputError


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The path of a recording of two steps."""
    path, made = str(tmp_path_factory.mktemp("recorded") / "run.npz"), setup(Dyadic())
    with made.legacy_program() as program:
        record_program(program, made.job, 2, path)
    return path


def test_a_recording_of_the_same_job_is_opened_at_its_first_step(recording):
    with left_side.open_recording(recording, setup(Dyadic()).job, 2) as opened:
        assert opened.step().step == 0


def test_a_recording_of_another_job_is_refused(recording):
    with pytest.raises(InputError, match="replicas is 2 in the recording and 4 here"):
        left_side.open_recording(recording, setup(Dyadic(), replicas=4).job, 2)


def test_a_recording_that_is_too_short_is_refused(recording):
    with pytest.raises(InputError, match="--steps: got 3, the recording holds 2"):
        left_side.open_recording(recording, setup(Dyadic()).job, 3)


def test_another_interpreter_records_once(tmp_path, monkeypatch):
    calls = []

    def record_legacy(python, flags, path):
        calls.append((python, flags))
        open(path, "w").close()

    monkeypatch.setattr(left_side.interpreter, "tensorflow_version", lambda python: "1.15.0")
    monkeypatch.setattr(left_side.interpreter, "record_legacy", record_legacy)
    paths = [left_side.record_in_interpreter("python3.7", ["--steps=2"], str(tmp_path)) for _ in range(2)]
    assert paths[0] == paths[1] == str(tmp_path / "legacy.npz")
    assert calls == [("python3.7", ["--steps=2"])]
