"""Commands end: with their last line however slow the input, saved at Ctrl-C, one at a time in a folder."""

import os
import signal
import subprocess

import pytest

from tests.commands import refused, run, run_anew
from tests.full_disk import full_disk
from tests.parity.test_workers import descendants, final, start
from tests.stderr import without_progress
from workloads.training import folder_lock

#: Seconds that a command may take here in all; a run that does not end takes for ever.
GENEROUS = 300

#: A workload each of whose batches takes SECONDS, from Python or from a pipeline.
WORKLOAD = """
import dataclasses, time
from workloads.models import regression

@dataclasses.dataclass(frozen=True)
class Slow(regression.Regression):
    def examples(self, rng, count):
        time.sleep(SECONDS)
        return super().examples(rng, count)

slow = Slow(global_batch=64, features=60, hidden=(48,))
"""


@pytest.fixture
def slow(tmp_path):
    """Function (seconds) to the flag of a workload whose batches take so long, for processes started in `tmp_path`."""

    def write_workload(seconds):
        (tmp_path / "slow_inputs.py").write_text(WORKLOAD.replace("SECONDS", str(seconds)))
        return "--workload=slow_inputs:slow"

    return write_workload


SLOW_COMMANDS = [
    (0.01, "modern.train"),
    pytest.param(0.5, "modern.train", marks=pytest.mark.slow),
    pytest.param(0.01, "parity.verify", marks=pytest.mark.slow),
    pytest.param(0.5, "parity.verify", marks=pytest.mark.slow),
    pytest.param(0.5, "modern.record --out=run.npz", marks=pytest.mark.slow),
    pytest.param(0.5, "legacy.train --legacy_input=dataset", marks=pytest.mark.slow),
    pytest.param(0.5, "legacy.train --legacy_input=queue", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("seconds, command", SLOW_COMMANDS)
def test_a_command_ends_with_its_last_line(seconds, command, slow, tmp_path):
    process = start(*command.split(), slow(seconds), "--steps=4", cwd=tmp_path)
    out, err = process.communicate(timeout=GENEROUS)
    assert process.returncode == 0 and out.strip() and not without_progress(err), err


@pytest.mark.parametrize(
    "flags",
    [
        [],
        pytest.param(["--strategy=multi_worker", "--workers=2", "--replicas=1"], marks=pytest.mark.slow),
        pytest.param(["--strategy=parameter_server", "--workers=2"], marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_saves_and_leaves_nothing_running(flags, slow, tmp_path):
    import select

    folder = tmp_path / "checkpoints"
    train = [*flags, slow(0.05), "--log_every=1", f"--checkpoint_dir={folder}"]
    process = start("modern.train", *train, "--steps=1000000", cwd=tmp_path)
    assert process.stdout.readline().startswith("modern | step")
    below = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and to all that it started
    out, err = process.communicate(timeout=GENEROUS)
    assert process.returncode == 130, err
    assert "stopped by a signal at step" in out and not without_progress(err)
    for descriptor in below:
        assert select.select([descriptor], [], [], 60)[0], "a process outlives its command"
    reached = int(final(folder)["step"])
    assert reached >= 1 and sorted(os.listdir(folder)) == [folder_lock.NAME, f"step-{reached:08d}"]


@pytest.mark.slow  # tests/modern/multi_worker/test_parameter_server_program.py has what is kept
@pytest.mark.parametrize("strategy, trains_on", [("parameter_server", True), ("multi_worker", False)])
def test_ctrl_c_after_the_loss_of_a_worker_is_one_line(strategy, trains_on, slow, tmp_path):
    flags = [f"--strategy={strategy}", "--workers=2", "--replicas=1", slow(0.05), "--log_every=1", "--steps=1000000"]
    process = start("modern.train", *flags, f"--checkpoint_dir={tmp_path / 'a'}", "--checkpoint_every=5", cwd=tmp_path)
    assert process.stdout.readline().startswith("modern | step")
    children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
    worker = next(child for child in children if "spawn_main" in open(f"/proc/{child}/cmdline").read())
    os.kill(int(worker), signal.SIGKILL)
    for _ in range(3 if trains_on else 0):
        assert process.stdout.readline().startswith("modern | step")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=GENEROUS)
    lines = without_progress(err).splitlines()
    if trains_on:  # the line is TensorFlow's, about the loss
        assert process.returncode == 130 and "stopped by a signal at step" in out
        assert int(final(tmp_path / "a")["step"]) >= 3
        assert len(lines) == 1 and "failed with" in lines[0], err
    else:
        assert process.returncode in (1, 130) and len(lines) == 1, err
        assert lines[0] == "interrupted" or lines[0].startswith("error: worker"), err


@pytest.mark.slow  # tests/workloads/training/test_folder_lock.py has the lock itself
def test_a_second_run_in_a_folder_is_refused(slow, tmp_path):
    flags = ["modern.train", slow(0.05), "--log_every=1", "--steps=1000000", f"--checkpoint_dir={tmp_path / 'a'}"]
    first = start(*flags, cwd=tmp_path)
    assert first.stdout.readline().startswith("modern | step")
    message = refused(run(*flags, cwd=tmp_path))
    assert "--checkpoint_dir: got" in message and f"in use by another run (process {first.pid} on" in message
    first.kill()  # while it trains; another may go on at once
    again = start(*flags, cwd=tmp_path)
    assert again.stdout.readline().startswith(("modern | step", "goes on from"))
    again.send_signal(signal.SIGTERM)
    out, err = again.communicate(timeout=GENEROUS)
    first.communicate()
    assert again.returncode == 143 and not without_progress(err)


def test_a_full_disk_while_saving_is_one_line(tmp_path):
    with full_disk(30000):  # the first process writes nothing else
        process = run_anew("modern.train", "--workload=regression", "--steps=10", f"--checkpoint_dir={tmp_path / 'a'}")
    assert "cannot write step-00000010: File too large" in refused(process)
    assert os.listdir(tmp_path / "a") == [folder_lock.NAME]


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_recording_that_is_broken_off_leaves_nothing(number, slow, tmp_path):
    name = slow(0.05)
    before = sorted(os.listdir(tmp_path))
    process = start("modern.record", name, "--steps=1000000", f"--out={tmp_path / 'run.npz'}", cwd=tmp_path)
    while not any(".part" in entry for entry in os.listdir(tmp_path)):
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
    process.send_signal(number)
    process.communicate(timeout=GENEROUS)
    assert process.returncode == 128 + number
    assert sorted(entry for entry in os.listdir(tmp_path) if entry != "__pycache__") == before
