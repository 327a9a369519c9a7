import doctest
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.full_disk import full_disk
from workloads.records import writer
from workloads.records.reader import Recording


def record(path, steps=2):
    """A recording of a loop that shows little: a loss, a gradient and one weight."""
    weight = np.array([1.0, 2.0], np.float32)
    with writer.Recorder(
        path, replicas=2, weights={"w": weight}, global_batch=4, about={"made by": "hand"}
    ) as recorder:
        for step in range(steps):
            batch = {"x": np.arange(2) + step}
            weight = weight - np.float32(0.5)
            recorder.step(
                losses=[1.0, 3.0], weights={"w": weight}, gradients=[{"w": weight}, {"w": -weight}], batches=[batch] * 2
            )


def test_what_was_shown_is_read_back_and_the_rest_is_empty(tmp_path):
    record(str(tmp_path / "run.npz"))
    with Recording(str(tmp_path / "run.npz")) as recording:
        assert recording.manifest["job"] == {"replicas": "2", "global_batch": "4"}
        assert recording.describe() == {"made by": "hand"}
        assert recording.state().weights["w"].tolist() == [1.0, 2.0]
        first = recording.step()
        assert first.state.weights["w"].tolist() == [0.5, 1.5]
        assert [float(loss) for loss in first.losses] == [1.0, 3.0]
        assert first.gradients[1]["w"].tolist() == [-0.5, -1.5]
        assert first.examples[0].tolist() == first.examples[1].tolist()
        assert first.examples[0].tolist() != recording.step().examples[0].tolist()
        assert (first.combined, first.learning_rate, first.masks, first.drift) == ({}, None, [], [])


def test_a_loop_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError), writer.Recorder(str(tmp_path / "run.npz"), 1, {"w": np.zeros(2)}):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("longest", [0, 10, 600, 2000])
def test_a_full_disk_leaves_no_file(tmp_path, longest):
    with full_disk(longest), pytest.raises(OSError, match="File too large"):
        record(str(tmp_path / "run.npz"), 9)
    assert list(tmp_path.iterdir()) == []
    record(str(tmp_path / "run.npz"), 9)
    assert os.path.getsize(tmp_path / "run.npz") > 2000


def test_the_file_needs_numpy_alone(tmp_path):
    source = tmp_path / "writer.py"
    source.write_text(open(writer.__file__, encoding="utf-8").read(), encoding="utf-8")
    code = "import sys, writer; print(sorted(m for m in ('tensorflow', 'workloads', 'absl') if m in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], cwd=str(tmp_path), capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_examples_are_distinguished_by_every_input():
    batch = {"x": np.array([[1.0], [1.0], [2.0]]), "y": np.array([0, 1, 0])}
    ids = writer.example_ids(batch)
    assert len(set(ids.tolist())) == 3
    again = writer.example_ids({name: value[::-1] for name, value in batch.items()})
    assert ids.tolist() == again[::-1].tolist()
    assert json.dumps(ids.tolist())


def test_examples():
    found = doctest.testmod(writer)
    assert found.attempted and not found.failed


def test_taps_are_read_back_in_the_order_of_the_forward_pass(tmp_path):
    taps = [{"b": np.float32([1.0]), "a": np.float32([2.0])}] * 2
    with writer.Recorder(str(tmp_path / "run.npz"), 2, {"w": np.zeros(2)}) as recorder:
        recorder.step(losses=[1.0, 2.0], weights={"w": np.zeros(2)}, taps=taps, tap_gradients=taps)
    with Recording(str(tmp_path / "run.npz")) as recording:
        assert recording.holds_taps
        record = recording.step()
    assert [list(arrays) for arrays in (*record.taps, *record.tap_gradients)] == [["b", "a"]] * 4
    assert record.taps[1]["a"].tolist() == [2.0]


@pytest.mark.parametrize("digest", [writer.batch_digest, lambda batch: writer.example_ids(batch).tolist()])
def test_equal_values_in_other_types_have_one_digest(digest):
    usual = {"x": np.array([0.5, 0.1], np.float32), "y": np.array([1, 7], np.int32)}
    wide = {"x": usual["x"].astype(np.float64), "y": usual["y"].astype(np.int64)}
    assert digest(wide) == digest(usual)
    assert digest({**wide, "y": usual["y"].astype(np.uint8)}) == digest(usual)
    assert digest({**wide, "x": np.array([0.5, 0.1])}) != digest(usual)
    assert digest({**wide, "y": wide["y"] + 2**32}) != digest(usual)


@pytest.mark.parametrize("digest", [writer.batch_digest, lambda batch: writer.example_ids(batch).tolist()])
def test_equal_texts_in_other_types_have_one_digest(digest):
    texts = digest({"x": np.array([b"a", b"bc"])})
    assert digest({"x": np.array([b"a", b"bc"], object)}) == digest({"x": np.array(["a", "bc"])}) == texts
    assert digest({"x": np.array([b"a", b"bc"], "S9")}) == texts != digest({"x": np.array([b"a", b"bd"])})


def test_a_learning_rate_keeps_its_digits(tmp_path):
    path = str(tmp_path / "run.npz")
    with writer.Recorder(path, replicas=1, weights={"w": [1.0]}) as recorder:
        recorder.step(losses=[1.0], weights={"w": [1.0]}, rate=0.1)
    with Recording(path) as recording:
        assert float(recording.step().learning_rate) == 0.1
