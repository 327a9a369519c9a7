"""A recording under other names."""

import numpy as np

from parity.diagnosis.context.renamed_recording import RenamedRecording
from workloads.records.writer import Recorder


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
