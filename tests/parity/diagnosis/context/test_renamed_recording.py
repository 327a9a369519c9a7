"""A recording under other names."""

import numpy as np
import pytest

from parity.diagnosis.context.renamed_recording import RenamedRecording, open_renamed
from tests.full_disk import full_disk
from workloads.records.variable_match import ModelVariables
from workloads.records.writer import Recorder
from workloads.support.errors import InputError


def test_a_recording_shows_the_other_names(tmp_path):
    path = str(tmp_path / "run.npz")
    weights = {"x": np.float32([1.0])}
    with Recorder(path, 1, weights, slots={"x/momentum": weights["x"]}) as recorder:
        recorder.step(losses=[1.0], weights=weights, gradients=[weights], combined=weights, slots={"x/momentum": [2.0]})
    with RenamedRecording(path, "--right", {"x": "a"}) as recording:
        assert [spec.name for spec in recording.variables()] == ["a"]
        assert list(recording.state().slots) == ["a/momentum"]
        record = recording.step()
    assert [list(arrays) for arrays in (*record.gradients, record.combined, record.state.weights)] == [["a"]] * 3
    assert list(record.state.slots) == ["a/momentum"]


def test_a_full_disk_names_the_flag_and_leaves_no_file_of_names(tmp_path):
    path, weights = str(tmp_path / "run.npz"), {"x": np.float32([1.0, 2.0])}
    with Recorder(path, 1, weights) as recorder:
        recorder.step(losses=[1.0], weights=weights)
    names = tmp_path / "names.json"
    with full_disk(), pytest.raises(InputError, match=f"^--names: cannot write {names}: File too large$"):
        open_renamed(path, "--right", str(names), ModelVariables({"a": weights["x"]}))
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
