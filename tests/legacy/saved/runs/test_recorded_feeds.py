"""Tensors that a recorded program fed in place of their own values."""

import io
import json
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph import graph_file
from legacy.saved.runs.recorded_feeds import (
    FedTensor,
    carried_text,
    carry_flag,
    fed_rows,
    fed_tensors,
    feeds_text,
    recorded_carry,
)
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
ZEROS = np.zeros((2, 3), np.float32)


def program():
    """Two towers of a recurrent step, each from a state of zeros, and a mask of constants."""
    x = v1.placeholder(tf.float32, [2, 3], name="x")
    w = tf.raw_ops.VariableV2(shape=[3, 3], dtype=tf.float32, name="w")
    mask = tf.fill([2, 3], 1.0, name="mask")
    v1.placeholder_with_default(tf.zeros([2, 3]), [2, 3], name="noise")
    for tower in range(2):
        with tf.name_scope(f"tower_{tower}"):
            state = tf.fill([tf.shape(x)[0], 3], 0.0, name="state")
            tf.tanh(x + tf.matmul(state, w) * mask, name="last")


def fed(tmp_path, steps):
    """What a recording of steps, each with some tensors, fed."""
    with zipfile.ZipFile(tmp_path / "steps.zip", "w") as archive:
        for number, tensors in enumerate(steps):
            content = io.BytesIO()
            np.savez(content, **{f"tensors/{name}:0": value for name, value in tensors.items()})
            archive.writestr(f"{number:05d}.npz", content.getvalue())
    return fed_tensors(graph_file.SavedGraph(traced(program), {}, "1.15", str(tmp_path / "graph.meta")))


def steps_of(sources=(0, 1), kept=("tower_0/last", "tower_1/last")):
    """Three steps; each tower's state is that which one of the towers had last."""
    found, last = [], [ZEROS, ZEROS]
    for step in range(3):
        states = {f"tower_{tower}/state": last[sources[tower]] for tower in range(2)}
        last = [np.full((2, 3), 10 * step + tower + 1, np.float32) for tower in range(2)]
        ends = {f"tower_{tower}/last": last[tower] for tower in range(2)}
        found.append({"x": last[0], **states, **{name: ends[name] for name in kept}})
    return found


def test_states_of_zeros_that_were_fed_are_named_with_what_was_fetched(tmp_path):
    found = fed(tmp_path, steps_of())
    assert found == [FedTensor(f"tower_{tower}/state:0", f"tower_{tower}/last:0", shape=(2, 3)) for tower in range(2)]
    assert feeds_text(found) == (
        "the program fed tower_0/state:0, tower_1/state:0, which are no placeholders: lift it with "
        "--carry=tower_0/state:0=tower_0/last:0,tower_1/state:0=tower_1/last:0"
    )


def test_a_tower_that_is_fed_another_towers_state_is_named_so(tmp_path):
    assert [tensor.source for tensor in fed(tmp_path, steps_of(sources=(0, 0)))] == ["tower_0/last:0"] * 2


@pytest.mark.parametrize("rows, source", [([0.0, 1.0], "tower_0/last:0"), ([1.0, 2.0], "")])
def test_a_state_of_which_rows_are_set_back_is_carried(rows, source, tmp_path):
    """As where one sequence of a batch ends; other changes of rows tell that something else was fed."""
    steps = steps_of()
    steps[2]["tower_0/state"] = steps[2]["tower_0/state"] * np.array(rows, np.float32)[:, None]
    first = fed(tmp_path, steps)[0]
    assert first.source == source and first.rows_set_back == bool(source) and not first.is_set_back
    if source:
        changed = "the program, which feeds tower_0/last:0, with zeros in rows that begin again"
        assert fed_rows([first])[0]["changed by"] == changed


def test_a_state_that_is_set_back_to_zeros_is_carried_in_the_other_steps(tmp_path):
    """As at the beginning of each pass over the data; zeros alone show no source."""
    steps = steps_of()
    again = {name: ZEROS if name.endswith("/state") else value for name, value in steps[2].items()}
    found = fed(tmp_path, [*steps, again])
    assert [(tensor.source, tensor.is_set_back) for tensor in found] == [
        (f"tower_{tower}/last:0", True) for tower in range(2)
    ]
    assert fed_rows(found)[0]["changed by"] == "the program, which feeds tower_0/last:0, or zeros to begin again"
    other = {**again, "tower_0/state": ZEROS + 0.5}
    assert [tensor.source for tensor in fed(tmp_path, [*steps, other])] == ["", "tower_1/last:0"]


def test_what_was_fetched_may_not_be_recorded(tmp_path):
    found = fed(tmp_path, steps_of(kept=("tower_0/last",)))
    assert [tensor.source for tensor in found] == ["tower_0/last:0", ""]
    assert feeds_text(found).endswith(
        "tower_1/state:0=TENSOR, where TENSOR is what the program fetched in the step before"
    )


@pytest.mark.parametrize(
    "steps",
    [
        [{"x": ZEROS}, {"x": ZEROS + 1}],  # a placeholder
        [{"noise": ZEROS}, {"noise": ZEROS + 1}],  # a placeholder with a default
        [{"mask": ZEROS + 1}] * 2,  # as the graph computes it
        [{"tower_0/last": ZEROS}, {"tower_0/last": ZEROS + 1}],  # depends on the weight
        [{"mask": np.float32(step)} for step in range(2)],  # a number, such as a step
        [{"mask": np.zeros((2 + step, 3), np.float32)} for step in range(2)],  # a size that follows the batch
        [{"tower_0/Shape": np.array([2, 3 + step], np.int32)} for step in range(2)],  # a size
        [{"elsewhere": ZEROS}, {"elsewhere": ZEROS + 1}],
        [],
    ],
)
def test_what_the_graph_computes_was_not_fed(steps, tmp_path):
    assert fed(tmp_path, steps) == []
    assert feeds_text([]) == ""


def test_a_placeholder_that_gets_what_the_step_before_had_fetched_is_carried(tmp_path):
    """As the memory of a Transformer-XL, which the program keeps in numpy."""
    found = fed(tmp_path, [{"x": ZEROS + step, "tower_0/last": ZEROS + step + 1} for step in range(3)])
    assert found == [FedTensor("x:0", "tower_0/last:0", is_placeholder=True, shape=(2, 3))]
    assert feeds_text(found) == (
        "the program fed x:0 with what it had fetched in the step before: lift it with --carry=x:0=tower_0/last:0"
    )


def test_a_state_that_the_program_carries_is_a_row_and_a_flag():
    fed = [FedTensor("state:0", "last:0"), FedTensor("x:0", "y:0", is_placeholder=True)]
    assert [(row["variable"], row["changed by"]) for row in fed_rows(fed)] == [
        ("state:0", "the program, which feeds last:0"),
        ("x:0", "the program, which feeds y:0"),
    ]
    assert carry_flag(fed) == ["--carry=state:0=last:0,x:0=y:0"]
    assert recorded_carry(fed) == {"state:0": "last:0", "x:0": "y:0"}


def test_of_a_state_whose_source_is_not_recorded_there_is_a_row_and_no_flag():
    fed = [FedTensor("state:0", ""), FedTensor("x:0", "y:0")]
    assert [row["changed by"] for row in fed_rows(fed)][0] == "the program, which feeds what it fetched"
    assert carry_flag(fed) == []
    assert recorded_carry(fed) == {"x:0": "y:0"}


def test_what_the_graph_computes_anyway_is_no_carried_state():
    fed = [FedTensor("actions:0", "", is_computed=True)]
    assert fed_rows(fed) == [] and carry_flag(fed) == [] and recorded_carry(fed) == {}


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_placeholder_that_gets_other_values_is_not_carried(ahead, tmp_path):
    assert fed(tmp_path, [{"x": ZEROS + step, "tower_0/last": ZEROS + step + ahead} for step in range(3)]) == []


@pytest.mark.parametrize(
    "name, is_named", [("tower_0/last:0", True), ("x:0", False), ("mask:0", False), ("w:0", False), ("none:0", False)]
)
def test_what_the_graph_computes_of_data_and_the_recorder_saw_fed_is_named(name, is_named, tmp_path):
    """As the actions that a learner took, whose probabilities a policy gradient asks for."""
    about = {"format": 1, "steps": [["train"]], "fed": [name]}
    (tmp_path / "recording.json").write_text(json.dumps(about))
    found = fed(tmp_path, [{"x": ZEROS}, {"x": ZEROS + 1}])
    assert found == ([FedTensor(name, "", True)] if is_named else [])
    text = f"the program fed {name} in place of what the graph computes there; a lift computes it"
    assert feeds_text(found) == (text if is_named else "")


def test_without_a_recording_or_with_a_damaged_one_nothing_is_known(tmp_path):
    saved = graph_file.SavedGraph(traced(program), {}, "1.15", str(tmp_path / "graph.meta"))
    assert fed_tensors(saved) == []
    (tmp_path / "steps.zip").write_bytes(b"no archive")
    assert fed_tensors(saved) == []


def test_a_state_that_is_set_back_is_said_to_be():
    text = carried_text({"state:0": "last:0"}, ["state:0"])
    assert text.endswith(
        "set state:0 back to zeros in some steps or rows, as where a sequence begins, and a lift does not"
    )
