"""Checkpoints: what was saved comes back, and nothing else is ever taken for it."""

import os
import shutil

import numpy as np
import pytest

from tests.cases import Dyadic
from tests.full_disk import full_disk
from workloads.job import Job
from workloads.program import STATES, State
from workloads.support.errors import InputError
from workloads.training import checkpoints
from workloads.training.checkpoints import Checkpoints


def state(step, value=1.0):
    """A `State` whose values tell its step."""
    weights = {"a/b": np.full((3, 2), value * step, np.float32), "scalar": np.float32(step)}
    return State(step, weights, {"a/b/momentum": np.arange(6.0).reshape(3, 2) * step}, {}, {})


def saved(folder, steps, job=None, keep=3):
    """`Checkpoints` in `folder` with these steps written."""
    made = Checkpoints(str(folder), job or Job(Dyadic()), keep)
    for step in steps:
        made.save(state(step))
    made.wait()
    return made


def same(left, right):
    """Whether two states have identical bits."""
    return left.step == right.step and all(
        np.asarray(value).tobytes() == np.asarray(getattr(right, kind)[name]).tobytes()
        for kind in STATES
        for name, value in getattr(left, kind).items()
    )


def newest(folder, job=None):
    """(state, lines told) that a new process would go on from."""
    told = []
    found = Checkpoints(str(folder), job or Job(Dyadic())).newest(state(0), told.append)
    return found, told


def test_the_newest_comes_back_with_its_bits(tmp_path):
    saved(tmp_path, [10, 20])
    found, told = newest(tmp_path)
    assert same(found, state(20)) and not same(found, state(10))
    assert told == []


def test_an_empty_folder_has_none(tmp_path):
    assert newest(tmp_path / "new") == (None, [])


def test_the_oldest_go(tmp_path):
    saved(tmp_path, range(1, 6), keep=2)
    assert sorted(os.listdir(tmp_path)) == ["step-00000004", "step-00000005"]


@pytest.mark.parametrize("file", ["state.index", "state.data-00000-of-00001"])
def test_no_changed_byte_is_ever_loaded(tmp_path, file):
    saved(tmp_path, [10, 20])
    path = tmp_path / "step-00000020" / file
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        found, told = newest(tmp_path)
        # A byte that nothing depends on may change nothing; anything else is refused by name.
        assert same(found, state(20)) or (same(found, state(10)) and "step-00000020 is refused" in told[0]), place
    path.write_bytes(whole[: len(whole) // 2])
    assert same(newest(tmp_path)[0], state(10))
    path.write_bytes(whole)
    assert same(newest(tmp_path)[0], state(20))


def test_a_missing_file_is_refused(tmp_path):
    saved(tmp_path, [10, 20])
    os.remove(tmp_path / "step-00000020" / "state.data-00000-of-00001")
    assert same(newest(tmp_path)[0], state(10))


def test_what_an_interrupted_writer_left_is_no_checkpoint_and_is_removed(tmp_path):
    saved(tmp_path, [10])
    shutil.copytree(tmp_path / "step-00000010", tmp_path / ".step-00000020-123")
    assert same(newest(tmp_path)[0], state(10))
    assert os.listdir(tmp_path) == ["step-00000010"]


def test_another_jobs_checkpoint_is_refused_and_says_what_differs(tmp_path):
    saved(tmp_path, [10])
    with pytest.raises(InputError, match="none of its checkpoints can be used"):
        newest(tmp_path, Job(Dyadic(), seed=3))
    told = []
    with pytest.raises(InputError):
        Checkpoints(str(tmp_path), Job(Dyadic(), seed=3)).newest(state(0), told.append)
    assert "seed 0 and not 3" in told[0]


def test_a_checkpoint_of_another_step_under_this_name_is_refused(tmp_path):
    saved(tmp_path, [10])
    os.rename(tmp_path / "step-00000010", tmp_path / "step-00000030")
    with pytest.raises(InputError):
        newest(tmp_path)


def test_other_shapes_are_refused(tmp_path):
    saved(tmp_path, [10])
    like = state(0)
    like.weights["a/b"] = np.zeros((3, 3), np.float32)
    told = []
    with pytest.raises(InputError):
        Checkpoints(str(tmp_path), Job(Dyadic())).newest(like, told.append)
    assert "its weights are not those of this job" in told[0]


def test_a_refused_one_is_replaced(tmp_path):
    saved(tmp_path, [10, 20])
    (tmp_path / "step-00000020" / "state.index").write_bytes(b"nothing")
    saved(tmp_path, [20])
    assert same(newest(tmp_path)[0], state(20))


def test_who_does_not_write_does_not(tmp_path):
    made = Checkpoints(str(tmp_path), Job(Dyadic()), writes=False)
    made.save(state(10))
    made.wait()
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make"):
        Checkpoints(str(tmp_path / "file"), Job(Dyadic()))


def test_the_newest_by_its_step_is_read_whatever_job_it_is_of(tmp_path):
    saved(tmp_path, [99999999, 100000000])  # the longer name sorts before the other as a text
    assert checkpoints.newest_checkpoint(str(tmp_path)) == "step-100000000"
    values = checkpoints.read_checkpoint(str(tmp_path), "step-99999999")
    assert values["step"] == 99999999 and "about" in values
    assert values["weights/a/b"].tobytes() == state(99999999).weights["a/b"].tobytes()


def test_a_folder_without_checkpoints_is_refused(tmp_path):
    with pytest.raises(InputError, match="--checkpoint_dir: got .*holds no checkpoint"):
        checkpoints.newest_checkpoint(str(tmp_path))


def test_a_full_disk_is_one_line_and_the_older_checkpoints_stay(tmp_path):
    made = saved(tmp_path, [10])
    with full_disk():
        made.save(state(20))
        with pytest.raises(
            InputError, match="^--checkpoint_dir: cannot write step-00000020: File too large; the old"
        ) as e:
            made.wait()
    assert "\n" not in str(e.value)
    assert os.listdir(tmp_path) == ["step-00000010"]
    assert same(newest(tmp_path)[0], state(10))
    made.save(state(20))  # there is space again
    made.wait()
    assert same(newest(tmp_path)[0], state(20))
