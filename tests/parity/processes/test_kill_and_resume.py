"""Runs that are killed and started again, with scripts that train nothing."""

import random

import numpy as np
import pytest

from parity.processes import child_command, kill_and_resume, kill_moments
from parity.processes.kill_and_resume import Kill
from parity.processes.kill_moments import STEP, Moment
from workloads.support.errors import Lost

#: Counts steps in a file of the folder, as a training run with checkpoints does; ends after step 6.
COUNTS = """
import pathlib, sys, time
file = pathlib.Path(sys.argv[1].partition("=")[2], "step")
first = int(file.read_text()) if file.exists() else 0
print('{"about": "no step"}', flush=True)
for step in range(first + 1, 7):
    file.write_text(str(step))
    print('{"step": %d}' % step, flush=True)
    time.sleep(WAIT)
"""


@pytest.fixture
def train(monkeypatch):
    """Makes runs execute a script instead of `modern.train`, and sleeps take no time."""

    def use(script):
        monkeypatch.setattr(child_command, "module_command", lambda python, module: [python, "-S", "-c", script])

    monkeypatch.setattr(kill_and_resume.time, "sleep", lambda seconds: None)
    return use


def test_a_whole_run_reports_every_step(train, tmp_path):
    train(COUNTS.replace("WAIT", "0"))
    steps = []
    kill_and_resume.train_to_end(str(tmp_path), [], 1, steps.append)
    assert steps == [1, 2, 3, 4, 5, 6]


def test_a_run_that_fails_is_lost_with_its_last_words(train, tmp_path):
    train("raise SystemExit('out of disk')")
    with pytest.raises(Lost, match="a run ended with 1: out of disk"):
        kill_and_resume.train_to_end(str(tmp_path), [], 1, lambda step: None)


def test_a_killed_run_is_started_again_until_it_is_complete(train, tmp_path):
    train(COUNTS.replace("WAIT", "60 if step == 3 else 0"))  # still running when it is killed
    steps = []
    kills = kill_moments.train_killed_at(str(tmp_path), [], 1, [Moment(STEP, 3, 0.0)], random.Random(0), steps.append)
    assert [(kill.step, kill.worker) for kill in kills] == [(3, 0)] and kills[0].seconds < kill_and_resume.BOUND
    assert steps == [3, 4, 5, 6]


def test_a_moment_that_the_run_has_passed_is_skipped(train, tmp_path):
    train(COUNTS.replace("WAIT", "0"))
    moments = [Moment(STEP, 9, 0.0)]
    assert kill_moments.train_killed_at(str(tmp_path), [], 1, moments, random.Random(0), lambda step: None) == []


#: The chief waits for its killed peer; `END` is what it does then.
TWO_WORKERS = """
import json, os, signal, sys, time
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
    print('{"step": 1}', flush=True)
    END
else:
    time.sleep(60)
"""


def kill_the_second_worker(folder):
    """Starts two workers, kills the second when the first has reported a step, and returns the seconds."""
    run = kill_and_resume.TrainingRun(str(folder), [], 2)
    try:
        assert next(run.steps()) == 1
        return run.kill(1)
    finally:
        run.close()


def test_the_peer_must_name_the_loss_and_end(train, tmp_path):
    train(TWO_WORKERS.replace("END", "sys.exit('error: worker 1 was lost')"))
    assert 0 <= kill_the_second_worker(tmp_path) < kill_and_resume.BOUND


@pytest.mark.parametrize("end, status", [("sys.exit('another reason')", 1), ("sys.exit(0)", 0)])
def test_a_peer_that_ends_otherwise_is_refused(train, tmp_path, end, status):
    train(TWO_WORKERS.replace("END", end))
    with pytest.raises(Lost, match=f"a worker whose peer was killed ended with {status}"):
        kill_the_second_worker(tmp_path)


def test_a_peer_that_goes_on_is_refused(train, tmp_path, monkeypatch):
    monkeypatch.setattr(kill_and_resume, "BOUND", 0.05)
    train(TWO_WORKERS.replace("END", "time.sleep(60)"))
    with pytest.raises(Lost, match="a worker still ran 0 s after its peer was killed"):
        kill_the_second_worker(tmp_path)


def test_differing_tensors_are_named_and_sorted():
    left = {"weights/a": np.float32(1), "weights/b": np.float32(2)}
    assert kill_and_resume.differing_tensors(left, dict(left)) == []
    right = {"weights/a": np.float32(1.5), "slots/c": np.float32(0)}
    assert kill_and_resume.differing_tensors(left, right) == ["slots/c", "weights/a", "weights/b"]


def test_bits_are_compared_and_not_values():
    assert kill_and_resume.differing_tensors({"a": np.float32(0.0)}, {"a": np.float32(-0.0)}) == ["a"]
    assert kill_and_resume.differing_tensors({"a": np.float32("nan")}, {"a": np.float32("nan")}) == []


def test_the_newest_checkpoint_is_the_final_state(monkeypatch):
    from workloads.training import checkpoints

    monkeypatch.setattr(checkpoints, "newest_checkpoint", lambda folder: folder + "/step-00000002")
    monkeypatch.setattr(checkpoints, "read_checkpoint", lambda folder, name: {"step": name})
    state = kill_and_resume.read_final_state("runs")
    assert state == ("runs/step-00000002", {"step": "runs/step-00000002"})
    assert (state.checkpoint, state.tensors) == state


def test_kills_have_the_fields_of_the_report():
    assert Kill._fields == ("step", "worker", "seconds")
