import doctest

import numpy as np
import pytest

from tests.cases import Everything, assert_same, records, setup
from workloads.records import reader
from workloads.records.reader import Recording, Writer
from workloads.support.errors import InputError

STEPS = 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(path of a recording, the records in it)."""
    path = str(tmp_path_factory.mktemp("recording") / "run.npz")
    made = setup(Everything())
    with made.legacy_program() as program, Writer(path, {"job": made.job.describe()}, program.variables()) as writer:
        writer.initial(program.state())
        seen = [program.step() for _ in range(STEPS)]
        for record in seen:
            writer.write(record)
    return path, seen


def test_what_is_read_is_what_was_written(recorded):
    path, seen = recorded
    assert_same(records(Recording(path), STEPS), seen)


def test_it_is_an_ordinary_archive(recorded):
    with np.load(recorded[0]) as archive:
        np.testing.assert_array_equal(
            archive["00001/weights/first/weights"], recorded[1][1].state.weights["first/weights"]
        )


def test_the_state_before_the_first_step_and_after_each(recorded):
    recording = Recording(recorded[0])
    before = recording.state()
    assert before.step == 0
    after = recording.step().state
    assert not np.array_equal(before.weights["first/weights"], after.weights["first/weights"])
    assert recording.state().weights["first/weights"].tobytes() == after.weights["first/weights"].tobytes()


def test_no_more_steps_than_were_recorded(recorded):
    recording = Recording(recorded[0])
    for _ in range(STEPS):
        recording.step()
    with pytest.raises(InputError, match="holds 3 steps"):
        recording.step()


def test_damage_anywhere_is_found(recorded, tmp_path):
    content = open(recorded[0], "rb").read()
    path = tmp_path / "damaged.npz"
    for place in np.random.RandomState(0).randint(0, len(content), 100):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(InputError, match="damaged"):
            Recording(str(path))


@pytest.mark.parametrize("kept", [0, 10, 64, 1000, -1])
def test_truncation_is_found(recorded, tmp_path, kept):
    path = tmp_path / "short.npz"
    path.write_bytes(open(recorded[0], "rb").read()[:kept])
    with pytest.raises(InputError, match="damaged, or not a recording"):
        Recording(str(path))


def test_a_failed_run_leaves_nothing_behind(tmp_path):
    with pytest.raises(RuntimeError), Writer(str(tmp_path / "run.npz"), {}, ()):
        raise RuntimeError("the training broke")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="--out: cannot write"):
        Writer(str(tmp_path / "no" / "run.npz"), {}, ())


def test_examples():
    found = doctest.testmod(reader)
    assert found.attempted == 4 and found.failed == 0


def test_a_programs_records_go_to_a_file_and_come_back(tmp_path):
    made, seen = setup(Everything()), []
    with made.legacy_program() as program:
        reader.record_program(program, made.job, 2, str(tmp_path / "run.npz"), lambda *step: seen.append(step))
    with Recording(str(tmp_path / "run.npz")) as recording:
        assert recording.manifest["job"] == {key: value for key, value in made.job.describe().items()}
        losses = [sum(map(float, recording.step().losses)) / 2 for _ in range(2)]
    assert seen == list(enumerate(losses))
