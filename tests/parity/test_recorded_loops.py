"""Correct loops of one's own through the commands: whatever their habits, none is NO PARITY."""

import pytest

from tests.commands import run
from tests.parity.softmax_loop import Habits, record_loop, write_job

IN_DOUBLE = ["--dtype=float64"]


def job_of(folder, optimizer, habits):
    """Flags of the job that a loop of these habits is a port of."""
    return write_job(folder, optimizer, "CLIPPED" if habits.clip else "PORT")


def verified(folder, optimizer, habits, *flags):
    """Exit status and output of `parity.verify --recording`."""
    job = job_of(folder, optimizer, habits)
    path = record_loop(folder, optimizer, habits)
    return run("parity.verify", *job, f"--recording={path}", f"--names={folder / 'names.json'}", *flags)


def diagnosed(folder, optimizer, habits, *flags):
    """Exit status and output of `parity.diagnose` beside the towers' recording."""
    job = job_of(folder, optimizer, habits)
    legacy = folder / "legacy.npz"
    recorded = run("legacy.record", *job, f"--out={legacy}", *flags)
    assert recorded.returncode == 0, recorded.stderr
    return run("parity.diagnose", f"--left={legacy}", f"--right={record_loop(folder, optimizer, habits)}")


@pytest.mark.parametrize(
    "optimizer, habits, flags",
    [
        ("Momentum", Habits(dtype="float64"), IN_DOUBLE),
        ("Adam", Habits(), []),
        ("Adam", Habits(dtype="float64"), IN_DOUBLE),
        ("Momentum", Habits(labels="int64", one_loss=True), []),
    ],
)
def test_a_loop_with_constants_in_float64_or_other_types_of_labels_is_parity(optimizer, habits, flags, tmp_path):
    process = verified(tmp_path, optimizer, habits, *flags)
    assert process.returncode == 0, process.stdout + process.stderr
    process = diagnosed(tmp_path, optimizer, habits, *flags)
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize("optimizer", ["Momentum", "Adam"])
def test_what_is_not_recorded_is_named_as_the_reason(optimizer, tmp_path):
    process = verified(tmp_path, optimizer, Habits(slots=False))
    assert process.returncode == 3, process.stdout + process.stderr
    assert "the recording does not hold the slots" in " ".join(process.stdout.split())
    process = verified(tmp_path, optimizer, Habits(slots=False, gradients=False))
    assert process.returncode == 3, process.stdout + process.stderr
    assert "combine (the recording does not hold the gradients)" in " ".join(process.stdout.split())


def test_a_faulty_loop_without_slots_is_not_explained_by_rounding(tmp_path):
    process = diagnosed(tmp_path, "Momentum", Habits(slots=False))
    assert process.returncode == 0, process.stdout + process.stderr
    process = diagnosed(tmp_path, "Momentum", Habits(slots=False, decay="gradient", rate=0.03))
    assert process.returncode == 1, process.stdout + process.stderr


def test_a_decay_that_is_a_ten_thousandth_off_in_float64_is_no_parity(tmp_path):
    process = verified(tmp_path, "Momentum", Habits(dtype="float64", rate=0.02 * (1 + 1e-4)), *IN_DOUBLE)
    assert process.returncode == 1, process.stdout + process.stderr


@pytest.mark.parametrize(
    "optimizer, habits",
    [
        ("Momentum", Habits(decay="gradient")),
        ("Adam", Habits(decay="gradient")),
        ("GradientDescent", Habits(decay="weights")),
    ],
)
def test_legacys_decay_in_the_optimizer_is_parity(optimizer, habits, tmp_path):
    process = verified(tmp_path, optimizer, habits)
    assert process.returncode == 0, process.stdout + process.stderr
    process = diagnosed(tmp_path, optimizer, habits)
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.startswith("DECAY_IN_OPTIMIZER")


def test_legacys_decay_in_the_optimizer_beside_shares_of_the_loss_is_parity(tmp_path):
    process = verified(tmp_path, "Momentum", Habits(decay="gradient", shares=True))
    assert process.returncode == 0, process.stdout + process.stderr
    process = verified(tmp_path, "Momentum", Habits(decay="gradient", shares=True, rate=0.021))
    assert process.returncode == 1, process.stdout + process.stderr


@pytest.mark.parametrize("habits", [Habits(decay="weights"), Habits(decay="gradient", rate=0.021)])
def test_decoupled_decay_beside_momentum_and_another_rate_are_no_parity(habits, tmp_path):
    process = verified(tmp_path, "Momentum", habits)
    assert process.returncode == 1, process.stdout + process.stderr
    assert "DECAY_IN_OPTIMIZER" not in process.stdout


@pytest.mark.parametrize("optimizer", ["Momentum", "Adam"])
def test_legacys_clip_in_the_optimizer_is_no_difference(optimizer, tmp_path):
    process = diagnosed(tmp_path, optimizer, Habits(clip=0.25))
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.startswith("CLIP_IN_OPTIMIZER")
    process = verified(tmp_path, optimizer, Habits(clip=0.25))
    assert "every stage within the auto tolerance" in process.stdout, process.stdout + process.stderr


def test_another_clip_in_the_optimizer_is_no_parity(tmp_path):
    process = diagnosed(tmp_path, "Momentum", Habits(clip=0.26))
    assert process.returncode == 1, process.stdout + process.stderr
