"""Reading what was recorded of an original run."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from legacy.rerun.recording import RecordedSteps, as_recorded, require_same_settings
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.small_lift import small_plan
from workloads.lifted.plan import Noise
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive


def test_steps_and_the_start_are_read(tmp_path):
    steps = RecordedSteps(write_recording(tmp_path / "run", small_steps(2)), small_plan())
    assert len(steps) == 2 and steps.about["tensorflow"] == "0.12.1"
    assert steps.initial() == {"w": 2.0}
    assert steps.step(1)["after/w"] == 0.75 - 3.25 and steps.tensor(0, "g1:0") == 7.0
    assert steps.tensor(0, "nothing:0") is None and steps.input(0, "nothing:0") is None


def test_a_gradient_is_found_by_the_name_that_the_program_gave_its_graph(tmp_path):
    recorded = small_steps(1)
    recorded[0]["tensors/tower_0/grads_w/loss_grad/mul:0"] = np.float32(0.5)
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), small_plan())
    assert steps.tensor(0, "tower_0/grads_w/gradients/loss_grad/mul:0") == 0.5
    assert steps.tensor(0, "tower_0/grads_b/gradients/loss_grad/mul:0") is None


def test_an_input_that_a_step_did_not_use_is_another_steps(tmp_path):
    recorded = small_steps(3)
    del recorded[2]["tensors/x1:0"]
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), small_plan())
    assert steps.tensor(2, "x1:0") is None and steps.input(2, "x1:0").tolist() == [3, 4]
    assert steps.input(1, "x1:0").tolist() == [7, 8]


def test_python_objects_in_a_recording_are_passed_over(tmp_path):
    """Earlier recorders wrote texts so, such as the handle of an iterator that is fed."""
    recorded = small_steps(1)
    recorded[0]["tensors/handle:0"] = np.array(b"iterator", object)
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), small_plan())
    assert steps.input(0, "handle:0") is None and steps.input(0, "x1:0").tolist() == [3, 4]


def test_random_numbers_that_were_not_recorded_are_drawn_by_their_keys(tmp_path):
    """The recorder cannot fetch those of a branch."""
    recorded = small_steps(1)
    recorded[0]["tensors/g0:0"] = np.float32(0.5)
    noise = [Noise("g0", "RandomUniform", "keyed", ["g0", None]), Noise("g1", "RandomUniform", "keyed", ["cond/g1"])]
    plan = dataclasses.replace(small_plan(), noise=noise)
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), plan)
    assert [entry.in_loop for entry in as_recorded(plan, steps).noise] == [False, True]
    plain = dataclasses.replace(plan, noise=noise[:1])
    assert as_recorded(plain, steps) is plain


def test_a_switch_that_the_original_had_off_and_the_lift_has_on_is_refused(tmp_path):
    recorded = small_steps(1)
    recorded[0]["tensors/is_training:0"] = np.array(False)
    plan = dataclasses.replace(small_plan(), settings={"is_training": True})
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), plan)
    with pytest.raises(
        InputError, match="ran with is_training = False, the lift has True: .* --feed=is_training=false"
    ):
        require_same_settings(plan, steps)
    for settings in ({"is_training": False}, {"phase_train": True}, {"w": 2.0}):
        require_same_settings(dataclasses.replace(plan, settings=settings), steps)


def test_a_float_that_the_original_was_fed_is_compared_in_its_dtype(tmp_path):
    recorded = small_steps(1)
    recorded[0]["tensors/keep_prob:0"] = np.array(0.9, np.float32)
    plan = dataclasses.replace(small_plan(), settings={"keep_prob": 0.9})
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), plan)
    require_same_settings(plan, steps)
    with pytest.raises(InputError, match="ran with keep_prob = 0.9, the lift has 1.0: .* --feed=keep_prob=0.9$"):
        require_same_settings(dataclasses.replace(plan, settings={"keep_prob": 1.0}), steps)


def test_looking_for_an_input_that_no_step_has_reads_each_step_once(tmp_path, monkeypatch):
    """As for every random op at every step: the recorder has no outputs of it beyond those that it has."""
    read = []
    content = ArrayArchive.content
    monkeypatch.setattr(ArrayArchive, "content", lambda *a: read.append(a[1]) or content(*a))
    steps = RecordedSteps(write_recording(tmp_path / "run", small_steps(3)), small_plan())
    for _ in range(4):
        assert steps.input(2, "nothing:0") is None
        assert steps.input(2, "x1:0").tolist() == small_steps(3)[2]["tensors/x1:0"].tolist()
    assert sorted(name for name in read if name.endswith(".npz")) == [
        "00000.npz",
        "00001.npz",
        "00002.npz",
        "00002.npz",
    ]  # step 2 again, for its own x1:0


@pytest.mark.parametrize("targets", [["update"], ["init", "update"], ["tower/update_op"]])
def test_the_train_op_may_be_run_by_way_of_another(targets, tmp_path):
    assert len(RecordedSteps(write_recording(tmp_path / "run", small_steps(1), targets), small_plan())) == 1


def test_another_programs_recording_is_refused(tmp_path):
    folder = write_recording(tmp_path / "run", small_steps(1), ["Adam"])
    with pytest.raises(InputError, match="step 0 ran Adam, this lift's train op is update"):
        RecordedSteps(folder, small_plan())


def test_steps_of_other_train_ops_are_left_out(tmp_path):
    """A generator that is trained alone at first, and then a discriminator in every second step."""
    plan = small_plan()
    plan.phases = [dataclasses.replace(plan.phases[0], train_op=name) for name in ("Adam_2", "Adam")]
    folder = tmp_path / "run"
    write_recording(folder, small_steps(8))
    about = json.loads((folder / "recording.json").read_text())
    about["steps"] = [[name] for name in ["Adam_1", "Adam", "Adam_2", "Adam", "Adam", "Adam_2", "Adam_1", "Adam"]]
    (folder / "recording.json").write_text(json.dumps(about))
    steps = RecordedSteps(str(folder), plan)
    assert steps.numbers == [2, 3, 5, 7] and len(steps) == 4
    assert steps.tensor(2, "x0:0").tolist() == small_steps(6)[5]["tensors/x0:0"].tolist()


def test_train_ops_of_several_nodes_are_known_by_what_these_change(tmp_path):
    """Gradients that are added up by the nodes `Assign`s of a run, and set back by others."""
    plan = small_plan()
    effects = {name: [dataclasses.replace(plan.phases[0].effects[0], node=name)] for name in ("AssignAdd", "Assign")}
    plan.phases = [
        dataclasses.replace(plan.phases[0], train_op=f"{name}_together", effects=own) for name, own in effects.items()
    ]
    folder = tmp_path / "run"
    write_recording(folder, small_steps(4))
    about = json.loads((folder / "recording.json").read_text())
    about["steps"] = [["Assign", "Assign_1"], ["AssignAdd", "AssignAdd_1"], ["AssignAdd"], ["Assign", "Assign_1"]]
    (folder / "recording.json").write_text(json.dumps(about))
    assert RecordedSteps(str(folder), plan).numbers == [1, 3]


def test_a_step_starts_from_what_the_runs_between_have_left(tmp_path):
    recorded = [dict(arrays, **{"after/count": np.int32(4 * step)}) for step, arrays in enumerate(small_steps(3))]
    recorded[2]["before/count"] = np.int32(6)
    steps = RecordedSteps(write_recording(tmp_path / "run", recorded), small_plan())
    assert steps.start_of(0) == {"w": 2.0}
    assert steps.start_of(1) == {"w": 0.75, "count": 0} and steps.start_of(2) == {"w": -2.5, "count": 6}


def test_what_is_no_recording_or_is_damaged_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a recording, or is damaged"):
        RecordedSteps(str(tmp_path), small_plan())
    folder = tmp_path / "run"
    write_recording(folder, small_steps(2))
    steps = RecordedSteps(str(folder), small_plan())
    steps.numbers.append(2)
    with pytest.raises(InputError, match="step 2 of .* is damaged"):
        steps.step(2)
    about = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps(dict(about, format=2)))
    with pytest.raises(InputError, match="expected format 1"):
        RecordedSteps(str(folder), small_plan())
