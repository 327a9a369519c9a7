import doctest
import os
import zipfile

import numpy as np
import pytest

from tests.cases import Everything, assert_same, records, setup
from tests.full_disk import full_disk
from workloads.records import reader, writer
from workloads.records.reader import Recording
from workloads.records.record_program import RecordingWriter, record_program
from workloads.records.writer import DIGEST, digest_of
from workloads.support.errors import InputError

STEPS = 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(path of a recording, the records in it)."""
    path = str(tmp_path_factory.mktemp("recording") / "run.npz")
    made = setup(Everything())
    with made.legacy_program() as program, RecordingWriter(
        path, {"job": made.job.describe()}, program.variables()
    ) as writer:
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
    with pytest.raises(RuntimeError), RecordingWriter(str(tmp_path / "run.npz"), {}, ()):
        raise RuntimeError("the training broke")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="--out: cannot write"):
        RecordingWriter(str(tmp_path / "no" / "run.npz"), {}, ())


def test_examples():
    found = doctest.testmod(reader)
    assert found.attempted and not found.failed


def test_a_programs_records_go_to_a_file_and_come_back(tmp_path):
    made, seen = setup(Everything()), []
    with made.legacy_program() as program:
        record_program(program, made.job, 2, str(tmp_path / "run.npz"), lambda *step: seen.append(step))
    with Recording(str(tmp_path / "run.npz")) as recording:
        assert recording.manifest["job"] == {key: value for key, value in made.job.describe().items()}
        losses = [sum(map(float, recording.step().losses)) / 2 for _ in range(2)]
    assert seen == list(enumerate(losses))


def altered(source, target, change):
    """A recording with a right checksum whose members {name: array} `change` has changed."""
    with np.load(source) as file:
        members = {name: file[name] for name in file.files}
    change(members)
    np.savez(target, **members)
    with zipfile.ZipFile(target, "a") as archive:
        archive.comment = b"0" * DIGEST
    digest = digest_of(str(target)).encode("ascii")
    content = open(target, "rb").read()
    open(target, "wb").write(content[:-DIGEST] + digest)
    return str(target)


def steps_of(path):
    """All records of a recording, and its states."""
    with Recording(path) as recording:
        return [recording.state()] + [recording.step() for _ in range(recording.steps)]


WEIGHT = "00001/weights/first/weights"


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda m: m.update({WEIGHT: m[WEIGHT].astype(np.float64)}), "is float64 .*, not float32"),
        (lambda m: m.update({WEIGHT: m[WEIGHT].ravel()[:1]}), r"is float32 \[1\], not float32 \[6, 5\]"),
        (lambda m: m.update({"00001/losses": m["00001/losses"][:, None]}), "expected 1 dimension"),
        (lambda m: m.update({"00001/losses": np.array(["a", "b"])}), "holds texts, numbers are expected"),
        (lambda m: m.pop("00001/losses"), "00001/losses is missing"),
        (lambda m: m.update({"00001/digests": np.zeros(2)}), "holds float64, texts are expected"),
        (lambda m: m.update({"00001/learning_rate": np.zeros((2, 2))}), "expected 1 dimension"),
        (lambda m: m.update({"00001/examples/x": np.zeros(2)}), "other than the replicas' numbers"),
        (lambda m: m.update({"00001/combined/first/weights": np.zeros(1)}), "gradient of 'first/weights' is"),
        (lambda m: m.update({"manifest": np.array("{}")}), "no JSON object with a format"),
    ],
)
def test_what_the_checksum_cannot_tell_is_checked(recorded, tmp_path, change, message):
    steps_of(altered(recorded[0], tmp_path / "same.npz", lambda members: None))
    with pytest.raises(InputError, match="--recording: .* is damaged, or not a recording: .*" + message):
        steps_of(altered(recorded[0], tmp_path / "other.npz", change))


def test_examples_of_many_replicas_keep_their_order(tmp_path):
    path = str(tmp_path / "run.npz")
    batches = [{"x": np.array([replica])} for replica in range(12)]
    with writer.Recorder(path, replicas=12, weights={"w": np.zeros(1)}) as recorder:
        recorder.step(losses=np.zeros(12), weights={"w": np.zeros(1)}, batches=batches)
    with Recording(path) as recording:
        assert [int(ids[0]) for ids in recording.step().examples] == [int(writer.example_ids(b)[0]) for b in batches]


def test_only_a_regular_file_is_replaced(tmp_path):
    for path in (tmp_path, tmp_path / "pipe"):
        if path != tmp_path:
            os.mkfifo(path)
        with pytest.raises(InputError, match="--out: cannot write .*: is no regular file, and is not replaced"):
            RecordingWriter(str(path), {}, ())
    assert sorted(os.listdir(tmp_path)) == ["pipe"] and not os.path.exists(str(tmp_path) + f".part{os.getpid()}")


@pytest.mark.parametrize("longest", [0, 100, 3000, 20000])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, longest):
    program, path = setup(Everything()).legacy_program(), str(tmp_path / "run.npz")
    with full_disk(longest), pytest.raises(InputError, match=f"^--out: cannot write {path}: File too large$"):
        record_program(program, setup(Everything()).job, STEPS, path)
    program.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_a_recording_that_is_broken_off_leaves_nothing(tmp_path, error):
    class Broken(type(setup(Everything()).legacy_program())):
        def step(self):
            raise error

    program = setup(Everything()).legacy_program()
    program.__class__ = Broken
    with pytest.raises(error):
        record_program(program, setup(Everything()).job, STEPS, str(tmp_path / "run.npz"))
    program.close()
    assert list(tmp_path.iterdir()) == []
