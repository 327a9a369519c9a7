"""One's own data for a native workload: checked at the door, in the run's dtype, the same on both sides."""

import pickle

import numpy as np
import pytest

from tests.cases import Everything, setup
from workloads.data.opening import open_data
from workloads.data.own_data import OwnData
from workloads.job import Job
from workloads.support.errors import InputError


def arrays(count=10):
    rng = np.random.RandomState(0)
    inputs = Everything().inputs()
    return {
        name: rng.rand(count, *spec.shape)
        if spec.kind == "float"
        else rng.randint(0, spec.classes, (count, *spec.shape))
        for name, spec in inputs.items()
    }


def own(data, shuffle=True, **job):
    """The source of a job of `Everything`, of a file's data."""
    return OwnData(Job(Everything(), **job), open_data(str(data)), shuffle)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays(40), others=np.zeros(3))  # which the workload does not ask for
    return path


def test_every_example_comes_once_an_epoch_in_the_runs_dtype(file):
    source = own(file, global_batch=20)
    taken = np.concatenate([source.batch(step)["x"] for step in range(2)])
    assert taken.dtype == np.float32 and source.batch(0)["labels"].dtype == np.int32
    expected = np.float32(arrays(40)["x"])
    assert not np.array_equal(taken, expected)
    assert np.array_equal(np.sort(taken, 0), np.sort(expected, 0))
    wide = own(file, global_batch=20, dtype="float64").batch(1)["x"]
    assert wide.dtype == np.float64 and np.array_equal(wide, source.batch(1)["x"])


def test_another_process_reads_the_file_again(file):
    data = pickle.loads(pickle.dumps(open_data(str(file))))
    assert np.array_equal(OwnData(Job(Everything()), data).batch(3)["x"], own(file).batch(3)["x"])
    assert len(pickle.dumps(open_data(str(file)))) < 1000


def test_the_description_tells_data_from_others(file, tmp_path):
    first = open_data(str(file)).description
    (tmp_path / "moved.npz").write_bytes(file.read_bytes())
    assert open_data(str(tmp_path / "moved.npz")).description == first
    np.savez(file, **arrays(41))
    assert open_data(str(file)).description != first


def test_both_sides_train_on_them(file):
    made = setup(Everything(), source=lambda job: OwnData(job, open_data(str(file))))
    with made.legacy_program() as towers, made.modern_program() as port:
        losses = [program.run(4)[0].tobytes() for program in (towers, port)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"x": None}, r"got 'labels', it must have 'x': float \(6,\)"),
        ({"x": np.zeros((40, 5))}, r"'x': got shape \(40, 5\), must be \(40, 6\)"),
        ({"x": np.full((40, 6), "a")}, "'x': got <U1 .*must be an array of real numbers"),
        ({"labels": np.arange(40)}, "'labels': got numbers from 0 to 39, must be from 0 to 2"),
        ({"labels": np.full(40, 0.5)}, "'labels': got float64, must be whole numbers"),
        ({"labels": np.zeros(39, int)}, "arrays must have equal lengths"),
        ({"x": np.zeros((9, 6)), "labels": np.zeros(9, int)}, "got '9 examples', fewer than --global_batch=16"),
    ],
)
def test_refuses_other_arrays(changes, says, tmp_path):
    given = {name: array for name, array in {**arrays(40), **changes}.items() if array is not None}
    np.savez(tmp_path / "data.npz", **given)
    with pytest.raises(InputError, match=f"--data=.*data.npz: {says}" if "got" in says else says):
        own(tmp_path / "data.npz")


def test_a_file_that_is_no_data_is_reported(tmp_path):
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(InputError, match="--data: cannot read .* as .npz"):
        open_data(str(tmp_path / "text.npz"))
    with pytest.raises(InputError, match="--data: cannot read .*missing.npz: No such file"):
        open_data(str(tmp_path / "missing.npz"))
    with pytest.raises(InputError, match="has no attribute 'nothing'"):
        open_data("os:nothing")
