"""What the recording beside a graph file says of the program's switches."""

import io
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph import graph_file
from legacy.saved.report.page import inspect_graph
from legacy.saved.runs.recorded_switches import recorded_switches
from tests.legacy.saved.graphs import graph_of
from tests.legacy.saved.hazards.test_inputs import switched
from tests.legacy.variants.programs import lifted

TRUE, FALSE = np.array(True), np.array(False)


def record(tmp_path, steps):
    """Writes a recording of steps, each with some tensors."""
    with zipfile.ZipFile(tmp_path / "steps.zip", "w") as archive:
        for number, tensors in enumerate(steps):
            content = io.BytesIO()
            np.savez(content, **{f"tensors/{name}:0": value for name, value in tensors.items()})
            archive.writestr(f"{number:05d}.npz", content.getvalue())


def switches(tmp_path):
    """The switches of a graph file with two boolean placeholders, by the recording beside it."""
    holders = {name: {"dtype": tf.bool} for name in ("is_training", "augment")}
    graph = graph_of("is_training = Placeholder()\naugment = Placeholder()\nx = Placeholder()", **holders)
    return recorded_switches(graph_file.SavedGraph(graph, {}, "1.15", str(tmp_path / "graph.meta")))


@pytest.mark.parametrize(
    "steps, expected",
    [
        ([{"is_training": FALSE, "augment": TRUE}] * 2, {"is_training": "false", "augment": "true"}),
        ([{"is_training": TRUE, "x": TRUE}], {}),  # as is assumed without a recording; x is no boolean of the graph
        ([{"augment": FALSE}, {}, {"augment": TRUE}], {}),  # no value is that of all steps
        ([{"augment": np.array([True, False])}], {}),
    ],
)
def test_booleans_have_the_value_that_they_had_in_all_recorded_steps(steps, expected, tmp_path):
    record(tmp_path, steps)
    assert switches(tmp_path) == expected


@pytest.mark.parametrize(
    "steps, expected",
    [
        ([{"keep_prob": np.float32(0.9)}] * 2, {"keep_prob": "0.9"}),
        ([{"keep_prob": np.float32(1.0)}], {}),  # its constant, which is assumed without a recording
        ([{"keep_prob": np.float32(0.9)}, {"keep_prob": np.float32(0.5)}], {}),
        ([{"scheduled": np.float32(0.9)}], {}),  # computed, and perhaps not fed
    ],
)
def test_constants_that_were_fed_otherwise_have_the_value_of_all_recorded_steps(steps, expected, tmp_path):
    record(tmp_path, steps)
    text = "one = Const()\nstep = VariableV2()\n"
    text += "keep_prob = PlaceholderWithDefault(one)\nscheduled = PlaceholderWithDefault(step)"
    holders = {name: {"dtype": tf.float32} for name in ("keep_prob", "scheduled")}
    graph = graph_of(text, one={"value": np.array(1, np.float32), "dtype": tf.float32}, **holders)
    assert recorded_switches(graph_file.SavedGraph(graph, {}, "1.15", str(tmp_path / "graph.meta"))) == expected


@pytest.mark.parametrize("default, recorded, expected", [(0, 1, "true"), (0, 0, "false"), (1, 0, "false"), (1, 1, "")])
def test_a_boolean_with_a_default_has_its_recorded_value_unless_all_agree(default, recorded, expected, tmp_path):
    """A switch called is_training is assumed to be true."""
    record(tmp_path, [{"is_training": np.array(bool(recorded))}])
    values = {"off": {"value": np.array(bool(default)), "dtype": tf.bool}, "is_training": {"dtype": tf.bool}}
    graph = graph_of("off = Const()\nis_training = PlaceholderWithDefault(off)", **values)
    found = recorded_switches(graph_file.SavedGraph(graph, {}, "1.15", str(tmp_path / "graph.meta")))
    assert found == ({"is_training": expected} if expected else {})


def test_without_a_recording_or_with_a_damaged_one_nothing_is_known(tmp_path):
    assert switches(tmp_path) == {}
    (tmp_path / "steps.zip").write_bytes(b"no archive")
    assert switches(tmp_path) == {}


def test_page_and_lift_take_the_switches_of_the_recording_unless_they_are_fed(tmp_path):
    record(tmp_path, [{"is_training": FALSE}])
    setup = lifted(switched("is_training"), tmp_path)
    assert setup.job.workload.plan.settings == {"is_training": False}
    page = inspect_graph(str(tmp_path / "graph.meta"))
    assert page["assumed"] == [
        {"what": "is_training is false, as in the recording beside the graph; --feed=is_training=... overrides that"}
    ]
    assert "TRAINS_AS_IN_EVALUATION" in [row["hazard"] for row in page["hazards"]]
    assert "assumed" not in inspect_graph(str(tmp_path / "graph.meta"), feed={"is_training": "true"})
