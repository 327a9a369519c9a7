"""Moments of kills, with scripts that train nothing."""

import collections
import os
import random

import pytest

from parity.processes import child_command, kill_moments
from parity.processes.kill_moments import SAVING, START, STEP, Moment
from workloads.support.errors import Lost

#: Writes a checkpoint at each step as `Checkpoints` does, slowly; ends after step 6.
SAVES = """
import os, sys, time
folder = sys.argv[1].partition("=")[2]
os.makedirs(folder, exist_ok=True)
done = [int(name[5:]) for name in os.listdir(folder) if name.startswith("step-")]
for step in range(max(done, default=0) + 1, 7):
    part = os.path.join(folder, ".step-%d-%d" % (step, os.getpid()))
    print('{"step": %d}' % step, flush=True)
    os.mkdir(part)
    time.sleep(WAIT)
    os.rename(part, os.path.join(folder, "step-%d" % step))
"""


@pytest.fixture
def train(monkeypatch):
    """Makes runs execute a script instead of `modern.train`."""

    def use(script):
        monkeypatch.setattr(child_command, "module_command", lambda python, module: [python, "-S", "-c", script])

    return use


def killed_at(folder, *moments):
    """The kills, and the steps that were reported to the end."""
    steps = []
    kills = kill_moments.train_killed_at(str(folder), [], 1, moments, random.Random(0), steps.append)
    return kills, steps


def test_a_quarter_of_the_kills_each_is_at_a_start_and_while_saving():
    moments = kill_moments.draw_moments(20, 100, 5, 4.0, 60.0, random.Random(1))
    assert collections.Counter(moment.kind for moment in moments) == {START: 5, SAVING: 5, STEP: 10}
    assert all(0 <= moment.seconds <= (4.0 if moment.kind == START else 0.1) for moment in moments)
    assert all(1 <= moment.step <= (90 if moment.kind == SAVING else 99) for moment in moments)
    assert any(moment.seconds > 1 for moment in moments)
    quick = kill_moments.draw_moments(20, 100, 5, 4.0, 0.8, random.Random(1))  # it would end before its last kill
    assert all(moment.seconds <= 0.01 for moment in quick if moment.kind == STEP)
    assert [moment.kind for moment in kill_moments.draw_moments(1, 9, 5, 4.0, 60.0, random.Random(1))] == [STEP]


def test_a_run_is_killed_inside_the_writing_of_a_checkpoint(train, tmp_path):
    train(SAVES.replace("WAIT", "60 if step == 3 else 0.05"))
    process = kill_moments.TrainingRun(str(tmp_path), [], 1)
    try:
        kill = kill_moments._kill_at(process, str(tmp_path), Moment(SAVING, 2, 0.0), 0)
    finally:
        process.close()
    assert kill.step == 2 and kill.worker == 0
    is_partial = any(name.startswith(".step-") for name in os.listdir(tmp_path))
    newest = kill_moments.newest_step(str(tmp_path))
    assert newest == 2 or (newest == 1 and is_partial)  # step 2 has been written before a busy machine looked


def test_a_run_that_is_killed_at_its_start_has_taken_no_step(train, tmp_path):
    train(SAVES.replace("WAIT", "0"))
    kills, steps = killed_at(tmp_path, Moment(START, 5, 0.0))
    assert (kills[0].step, kills[0].worker) == (0, 0)
    assert steps == [0, 1, 2, 3, 4, 5, 6]


def test_a_run_that_has_ended_before_is_not_killed(train, tmp_path):
    train(SAVES.replace("WAIT", "0"))
    assert killed_at(tmp_path, Moment(STEP, 9, 0.0))[0] == []
    assert killed_at(tmp_path / "new", Moment(SAVING, 9, 0.0))[0] == []


def test_a_process_that_outlives_a_killed_run_is_an_error(train, tmp_path, monkeypatch):
    monkeypatch.setattr(kill_moments.kill_and_resume, "BOUND", 0.2)
    orphan = (
        "import subprocess, time; print(subprocess.Popen(['sleep', '30'], stdout=-3).pid, flush=True); time.sleep(60)"
    )
    train(orphan)
    run = kill_moments.TrainingRun(str(tmp_path), [], 1)
    pid = int(run._processes[0].stdout.readline())
    try:
        with pytest.raises(Lost, match=rf"processes \[{pid}\] still ran"):
            run.kill_all()
    finally:
        os.kill(pid, 9)
        run.close()
