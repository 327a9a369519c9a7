"""What names causes, as people run it."""

import json

import numpy as np
import pytest

from tests.commands import refused, run
from tests.marks import slow_after
from workloads.records.reader import Recording
from workloads.records.writer import Recorder, Writer


def altered(source, target, change, change_initial=lambda state: None):
    """A copy of a recording whose records, and first state, are changed in place by functions of them."""
    with Recording(str(source)) as recording, Writer(str(target), recording.manifest, recording.variables()) as writer:
        writer._manifest["steps"] = 0
        initial = recording.state()
        change_initial(initial)
        writer.initial(initial)
        for _ in range(recording.steps):
            record = recording.step()
            change(record)
            writer.write(record)
    return target


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of six steps of `regression`."""
    path = tmp_path_factory.mktemp("recorded") / "left.npz"
    process = run("legacy.record", "--workload=regression", "--steps=6", f"--out={path}")
    assert process.returncode == 0, process.stderr
    return path


def summed(record):
    record.combined = {name: value * 2 for name, value in record.combined.items()}


def test_equal_recordings_have_no_cause(recorded):
    process = run("parity.diagnose", f"--left={recorded}", f"--right={recorded}")
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("NOTHING DIFFERS: 6 steps")


def test_two_recordings_are_explained(recorded, tmp_path):
    right = altered(recorded, tmp_path / "right.npz", summed)
    process = run("parity.diagnose", f"--left={recorded}", f"--right={right}", f"--json={tmp_path / 'out.json'}")
    assert process.returncode == 1, process.stderr
    assert process.stdout.startswith("LOSS_NOT_DIVIDED: Every gradient is 2 x legacy's")
    result = json.loads((tmp_path / "out.json").read_text())
    causes = result["causes"]
    assert {entry["stage"] for entry in result["unexplained"]} == {"slots"}
    assert causes[0]["page"] == "docs/causes.md#loss_not_divided"
    # Only what is recorded was doubled: injected, the cause leaves over slots that did not take up that gradient.
    assert (causes[0]["confidence"], causes[0]["confirmed"]) == ("medium", False)
    assert {entry["stage"] for entry in causes[0]["remaining"]} >= {"slots"}


@pytest.mark.parametrize("steps, status", [(4, 0), (40, 3)])
def test_steps_that_rounding_has_parted_are_not_approved(tmp_path, steps, status):
    """Gradient descent as a chaotic map: one rounding in step 0 parts two runs, and hides a late fault of the loss."""
    paths = [str(tmp_path / name) for name in ("left.npz", "right.npz")]
    for path, rounding, factor in zip(paths, (0.0, 2.0**-23), (1.0, 2.0)):
        w = np.float32([0.3, 0.6])
        with Recorder(path, replicas=1, weights={"w": w}) as recorder:
            for step in range(steps):
                gradient = (w - np.float32(3.9) * w * (1 - w)) * np.float32(1 + (rounding if step == 0 else 0.0))
                loss = float(np.sum(w)) * (factor if step >= 35 else 1.0)
                w = w - gradient
                values = {"w": gradient}
                recorder.step(loss, {"w": w}, gradients=[values], combined=values, rate=1.0)
    process = run("parity.diagnose", f"--left={paths[0]}", f"--right={paths[1]}")
    assert process.returncode == status, process.stdout + process.stderr
    assert process.stdout.startswith("FLOAT_ORDER")
    assert ("not compared: losses and gradients of" in process.stdout) == (status == 3)


@pytest.mark.parametrize("slots, status", [(True, 0), (False, 1)])
def test_another_update_is_seen_without_slots(recorded, tmp_path, slots, status):
    """Shares of the loss are other terms of the same; larger changes of weights are not, and show without slots."""

    def in_shares(record):
        record.losses = [loss / 2 for loss in record.losses]
        record.gradients = [{name: value / 2 for name, value in of.items()} for of in record.gradients]
        record.state.slots = record.state.slots if slots else {}
        record.state.weights = {
            name: value * np.float32(1 if slots else 1.5) for name, value in record.state.weights.items()
        }

    def without_slots(state):
        state.slots = state.slots if slots else {}

    right = altered(recorded, tmp_path / "right.npz", in_shares, without_slots)
    process = run("parity.diagnose", "--noconfirm", f"--left={recorded}", f"--right={right}")
    assert process.returncode == status, process.stdout + process.stderr
    assert process.stdout.startswith("LOSS_SHARE")
    assert ("localised to weights" in process.stdout) == (not slots)


def test_what_fits_nothing_is_not_named(recorded, tmp_path):
    def scrambled(record):
        rng = np.random.RandomState(record.step)
        for gradients in record.gradients:
            for name, value in gradients.items():
                gradients[name] = np.asarray(rng.standard_normal(value.shape), value.dtype)

    right = altered(recorded, tmp_path / "right.npz", scrambled)
    process = run("parity.diagnose", f"--left={recorded}", f"--right={right}")
    assert process.returncode == 1
    assert process.stdout.startswith("NO KNOWN CAUSE: gradients are ")


def test_recordings_of_nothing_in_common_are_refused(recorded, tmp_path):
    from workloads.records.writer import Recorder

    with Recorder(str(tmp_path / "other.npz"), 2, {"theirs": np.zeros(3)}) as recorder:
        recorder.step(1.0, {"theirs": np.ones(3)})
    line = refused(run("parity.diagnose", f"--left={recorded}", f"--right={tmp_path / 'other.npz'}"))
    assert "--right" in line and "no variable has a name and shape of --left's" in line


def test_a_missing_recording_is_refused(recorded):
    assert "--right: cannot read /no/such" in refused(run("parity.diagnose", f"--left={recorded}", "--right=/no/such"))
    assert "--left: got None" in refused(run("parity.diagnose", f"--right={recorded}"))


def test_verify_says_the_cause_first(tmp_path):
    flags = ["--workload=regression", "--replicas=4", "--steps=2", "--all_reduce=auto", f"--json={tmp_path / 'o.json'}"]
    process = run("parity.verify", *flags)
    assert process.returncode == 1, process.stderr
    assert process.stdout.startswith("FLOAT_ORDER: The difference is rounding")
    assert json.loads((tmp_path / "o.json").read_text())["causes"][0]["cause"] == "FLOAT_ORDER"


@pytest.mark.slow
def test_faults_are_injected_and_named(tmp_path):
    path = tmp_path / "faults.json"
    flags = ["--workloads=sigmoid_stack", "--injected_replicas=2", "--only=LOSS_NOT_DIVIDED,EXAMPLES_MISCOUNTED"]
    command = ["parity.faults", *flags, f"--json={path}", f"--trials={tmp_path / 'trials.jsonl'}"]
    process = run(*command)
    assert process.returncode == 0, process.stderr + process.stdout
    runs = json.loads(path.read_text())["runs"]
    again = run(*command)  # which runs nothing
    assert again.returncode == 0 and json.loads(path.read_text())["runs"] == runs and " 1/" not in again.stdout
    assert {row["injected"] for row in runs} == {"sum_for_mean", "reduced_twice", "one_replicas_examples_counted"}
    for row in runs:
        assert row["detected"] and row["right"]
        assert {"injected", "workload", "replicas", "detected", "stage", "named", "confidence"} <= set(row)


def test_faults_are_listed():
    process = run("parity.faults", "--list")
    assert process.returncode == 0, process.stderr
    assert "LOSS_NOT_DIVIDED" in process.stdout and "R01" in process.stdout


@pytest.mark.parametrize(
    "flags, message",
    slow_after(
        1,
        [
            (["--workloads=resnet19"], "--workloads: got 'resnet19'"),
            (["--injected_replicas=one"], "--injected_replicas: got 'one'"),
            (["--only=NO_SUCH"], "--only: got ['NO_SUCH'], no such fault or cause"),
        ],
    ),
)
def test_faults_that_do_not_exist_are_refused(flags, message):
    assert message in refused(run("parity.faults", *flags))


@pytest.mark.slow
def test_clean_runs_flag_nothing(tmp_path):
    process = run("parity.clean_runs", "--runs=4", "--run_steps=3", f"--json={tmp_path / 'clean.json'}")
    assert process.returncode == 0, process.stderr + process.stdout
    result = json.loads((tmp_path / "clean.json").read_text())
    seen = [(row["seed"], row["mode"]) for row in result["runs"]]
    assert seen == [(0, "free"), (0, "locked"), (1, "free"), (1, "locked")]
    assert result["flagged"] == 0


def test_a_plain_keras_port_is_explained(tmp_path):
    process = run("parity.ports", "--ports=stacked_lstm", f"--json={tmp_path / 'ports.json'}")
    assert process.returncode == 0, process.stderr + process.stdout
    named = json.loads((tmp_path / "ports.json").read_text())["ports"][0]["named"]
    assert {"RMSPROP_INIT_ONES", "CLIP_BEFORE_REDUCE", "SAME_DROPOUT_MASK", "RMSPROP_EPS"} <= set(named)
