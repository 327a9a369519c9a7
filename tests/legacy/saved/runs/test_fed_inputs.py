"""Inputs that a program made as constants and fed all the same."""

import io
import json
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph import graph_file
from legacy.saved.runs.fed_inputs import with_fed_inputs
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
WORDS = np.array([1, 2, 3], np.int32)


def program():
    """A step that looks up words, for which zeros stand, and multiplies by a mask of ones."""
    table = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="table")
    words = tf.fill([3], tf.constant(0), name="words")
    mask = tf.fill([3, 1], 1.0, name="mask")
    lengths = tf.add(v1.placeholder(tf.int32, [3], name="given"), 1, name="lengths")
    tf.multiply(tf.gather(table, words) * mask, tf.cast(lengths[:, None], tf.float32), name="y")


def graph_with(tmp_path, fed, steps):
    """The graph of `program` beside a recording that names tensors as fed, with their arrays in some steps."""
    about = {"format": 1, "steps": [["train"]], "fed": fed}
    (tmp_path / "recording.json").write_text(json.dumps(about))
    with zipfile.ZipFile(tmp_path / "steps.zip", "w") as archive:
        for number, tensors in enumerate(steps):
            content = io.BytesIO()
            np.savez(content, **{f"tensors/{name}": value for name, value in tensors.items()})
            archive.writestr(f"{number:05d}.npz", content.getvalue())
    return with_fed_inputs(graph_file.SavedGraph(traced(program), {}, "1.4", str(tmp_path / "graph.meta"))).graph


@pytest.mark.parametrize("second, shape", [(WORDS + 1, [3]), (np.array([4], np.int32), [-1])])
def test_words_that_were_fed_for_zeros_are_an_input(second, shape, tmp_path):
    graph = graph_with(tmp_path, ["words:0"], [{"words:0": WORDS}, {"words:0": second}])
    node = graph.nodes["words"]
    assert (node.op, node.attr["dtype"].type, graph.inputs("words")) == ("Placeholder", tf.int32.as_datatype_enum, [])
    assert [size.size for size in node.attr["shape"].shape.dim] == shape
    assert [name for name in graph.nodes if graph.type(name) == "Placeholder"] == ["words", "given"]


@pytest.mark.parametrize(
    "fed, steps",
    [
        ([], [{"words:0": WORDS}]),  # recorded, and not fed
        (["words:0"], [{}]),
        (["words:0"], [{"words:0": WORDS}, {"words:0": WORDS[None]}]),  # of no one rank
        (["words:0"], [{"words:0": np.int32(1)}]),
        (["mask:0"], [{"mask:0": np.ones([3, 1], np.float32)}]),  # may be a state
        (["lengths:0"], [{"lengths:0": WORDS}]),  # computed of data
        (["none:0"], [{"none:0": WORDS}]),
    ],
)
def test_what_else_was_fed_stays(fed, steps, tmp_path):
    graph = graph_with(tmp_path, fed, steps)
    assert [name for name in graph.nodes if graph.type(name) == "Placeholder"] == ["given"]
    assert graph.type("words") == "Fill" and graph.type("mask") == "Fill"


def test_without_a_recording_the_graph_is_the_same(tmp_path):
    saved = graph_file.SavedGraph(traced(program), {}, "1.4", str(tmp_path / "graph.meta"))
    assert with_fed_inputs(saved) is saved
