"""The commands as people run them: processes of their own, exit statuses, one line for what cannot be used."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.commands import ROOT, refused, run
from tests.marks import slow_after
from tests.parity.speed.scripts import good, script
from tests.stderr import without_progress
from workloads.data import cifar10


def readme_workload():
    """The Python block of docs/workloads.md that defines a workload."""
    with open(os.path.join(ROOT, "docs", "workloads.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
    return next(block for block in blocks if "(Workload)" in block)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of two steps of `regression`."""
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    process = run("legacy.record", "--workload=regression", "--steps=2", f"--out={path}")
    assert process.returncode == 0, process.stderr
    return path


@pytest.mark.parametrize(
    "flags, message",
    slow_after(
        4,
        [
            (["--workload=resnet19"], "--workload: got 'resnet19', allowed: sigmoid_stack"),
            (["--workload=os:nothing"], "module 'os' has no attribute 'nothing'"),
            (["--global_batch=7"], "--global_batch: got 7, must be a multiple of --replicas=2"),
            (["--replicas=0"], "--replicas: got 0, must be at least 1"),
            (["--steps=-1"], "--steps: got -1, must be at least 1"),
            (["--steps=many"], "flag --steps=many"),
            (["--replicas=9"], "more than the 8 logical CPU devices"),
            (["--device=cpu", "--all_reduce=nccl"], "needs at least two physical GPUs"),
            (["--mode=loose"], "flag --mode=loose: value should be one of <free|locked>"),
            (["--tolerance=some"], "flag --tolerance=some: value should be one of <exact|auto>"),
            (
                ["--workload=cifar_cnn", "--data_dir=/no/such/folder"],
                "--data_dir: got '/no/such/folder', no such folder",
            ),
            (["--recording=/no/such/file"], "--recording: cannot read /no/such/file"),
            (["--legacy_python=/no/such/python"], "--legacy_python: got '/no/such/python', no such interpreter"),
            (["--json=/no/such/folder/out.json"], "--json: got"),
            (["--no_such_flag"], "Unknown command line flag 'no_such_flag'"),
            (["stray"], "argument: got ['stray']"),
        ],
    ),
)
def test_bad_input_is_one_line_and_exit_status_2(flags, message):
    # Sizes of CPU: a machine with GPUs is asked the same.
    assert message in refused(run("parity.verify", "--device=cpu", *flags))


def test_an_interpreter_without_tensorflow_is_named(tmp_path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named tensorflow' >&2\nexit 1\n")
    fake.chmod(0o755)
    assert "cannot import tensorflow" in refused(run("parity.verify", f"--legacy_python={fake}"))


def test_a_truncated_data_file_is_named(tmp_path):
    for name in cifar10.FILES:
        (tmp_path / name).write_bytes(b"\0" * (cifar10.RECORD - 1))
    line = refused(run("modern.train", "--device=cpu", "--workload=cifar_cnn", f"--data_dir={tmp_path}"))
    assert cifar10.FILES[0] in line and "truncated" in line


def test_a_damaged_recording_is_refused(recording, tmp_path):
    content = bytearray(recording.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged.npz").write_bytes(content)
    assert "damaged" in refused(run("parity.verify", "--steps=2", f"--recording={tmp_path / 'damaged.npz'}"))


@pytest.mark.parametrize(
    "flags, message",
    slow_after(
        1,
        [
            (["--workload=stacked_lstm"], "workload.name is 'regression' in the recording and 'stacked_lstm' here"),
            (["--seed=1"], "seed is 0 in the recording and 1 here"),
            (["--steps=3"], "--steps: got 3, the recording holds 2"),
        ],
    ),
)
def test_a_recording_of_something_else_is_refused(recording, flags, message):
    command = ["parity.verify", "--device=cpu", "--workload=regression", "--steps=2", f"--recording={recording}"]
    assert message in refused(run(*command, *flags))


def test_a_recording_is_as_good_as_the_towers(recording, tmp_path):
    out = tmp_path / "out.json"
    process = run(
        "parity.verify", "--device=cpu", "--workload=regression", "--steps=2", "--tolerance=exact",
        f"--recording={recording}", f"--json={out}",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr + process.stdout
    assert json.loads(out.read_text())["verdict"] == "parity"


def test_no_parity_is_exit_status_1_and_named(tmp_path):
    out = tmp_path / "out.json"
    process = run(
        "parity.verify", "--device=cpu", "--replicas=4", "--steps=2", "--all_reduce=auto", "--tolerance=exact",
        f"--json={out}",
    )  # fmt: skip
    assert process.returncode == 1, process.stderr
    assert "NO PARITY: first at step 0, stage combined gradients" in process.stdout
    assert json.loads(out.read_text())["first_failure"]["stage"] == "combined gradients"


def test_the_readmes_workload_from_outside_the_project(tmp_path):
    (tmp_path / "mine.py").write_text(readme_workload())
    flags = ["--workload=mine:DIGITS", "--device=cpu", "--steps=3"]
    process = run("parity.verify", *flags, cwd=tmp_path)
    assert process.returncode == 0, process.stderr + process.stdout
    assert "PARITY: 3 steps and 18 visits, every stage identical bits" in process.stdout
    for side in ("legacy", "modern"):
        process = run(f"{side}.train", *flags, "--json_lines", cwd=tmp_path)
        assert process.returncode == 0, process.stderr
        assert json.loads(process.stdout.splitlines()[0])["step"] == 3


def test_a_benchmark_says_parity_ratio_and_every_block(tmp_path):
    out = tmp_path / "out.json"
    other = script(tmp_path, good())
    process = run(
        "parity.benchmark", "--device=cpu", "--workload=regression", "--steps_per_call=5", "--block_seconds=0.01",
        "--blocks=10", "--most_blocks=10", "--tried_inputs=feed", f"--others={other}", f"--json={out}",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr + process.stdout
    result = json.loads(out.read_text())
    assert result["parity"]["verdict"] == "parity"
    assert set(result["ratio"]) >= {"median", "low", "high"}
    assert len(result["block_seconds"]["legacy"]) == len(result["block_seconds"]["modern"]) >= 10
    assert result["peak_bytes"]["legacy"] > 0 and result["peak_bytes"]["modern"] > 0
    timed = [(one["name"], one["input"]) for one in result["contestants"] if one["ratio"]["median"] > 0]
    sides = [(name, kind) for kind in ("resident", "streamed") for name in ("legacy", "modern", "one device")]
    assert timed == [*sides, ("mine", "resident")]
    assert {one["parity"] for one in result["contestants"]} == {None, "parity"}


#: Exit status where nothing differs and not all was exercised: a recording takes no visits.
NOT_SHOWN = 3


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("sigmoid_stack", NOT_SHOWN),
        ("regression", 0),
        ("cifar_cnn", NOT_SHOWN),
        ("resnet18", 0),
        ("stacked_lstm", NOT_SHOWN),
    ],
)
def test_the_true_old_tensorflow_against_the_port(name, status, tmp_path, legacy_python):
    out = tmp_path / "out.json"
    process = run(
        "parity.verify", "--device=cpu", f"--workload={name}", f"--legacy_python={legacy_python}", f"--json={out}"
    )
    assert process.returncode == status, process.stderr + process.stdout
    result = json.loads(out.read_text())
    assert result["legacy_environment"]["tensorflow"].startswith("1.")
    assert result["steps"] == 20


@pytest.mark.parametrize(
    "flags",
    [
        ["--workload=cifar_cnn", "--staleness=3"],
        ["--workload=stacked_lstm", "--placement=layers", "--layer_devices=3", "--micro_batches=2"],
    ],
)
def test_the_true_old_tensorflow_knows_late_updates_and_layers_on_devices(flags, legacy_python):
    process = run("parity.verify", "--device=cpu", *flags, "--steps=6", f"--legacy_python={legacy_python}")
    assert process.returncode == NOT_SHOWN, process.stderr + process.stdout
    assert "NOT SHOWN: 6 steps, every stage within the auto tolerance" in process.stdout


def test_a_reader_that_goes_away_ends_the_command_quietly():
    command = f"{sys.executable} -m modern.train --workload=regression --steps=1000000 --log_every=1 | head -n 1"
    process = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert process.stdout.startswith("modern | step      1 of")
    assert without_progress(process.stderr) == ""
