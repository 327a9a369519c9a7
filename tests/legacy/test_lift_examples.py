"""`legacy.lift --data`: a graph that runs with its own data only, and what made-up data take over from examples."""

import shutil
import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.lift_examples import DataOfProgram, keep_sizes, read_examples
from legacy.source.source import OldProgram, SourceOptions, source_text
from tests import old_programs
from tests.commands import run
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, setup_of, towers, weights
from tests.small_lift import small_lift
from workloads.lifted.plan import Input
from workloads.lifted.plan.settings import kept_settings, usual_setting
from workloads.lifted.sources import LiftedSynthetic
from workloads.lifted.workload import load_lift
from workloads.support.errors import InputError

v1 = tf.compat.v1
#: What a graph adds to the number of columns of x, in an input of its own: no made-up number is near it.
SECRET = 12_340


def knows_its_width():
    """A program that takes the width of its data from an input: other widths do not run."""
    whole = v1.placeholder(tf.float32, [4 * TOWERS, None, 3], name="x")
    keys = tf.split(v1.placeholder(tf.int32, [4 * TOWERS], name="key"), TOWERS)
    xs = tf.split(whole, TOWERS)

    def gradient(tower):
        part = tf.reshape(xs[tower] + tf.ones([keys[tower][0] - SECRET, 1]), [-1, 3])
        return tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(part, weights()))), [weights()])[0]

    mean = tf.add_n(towers(gradient)) / TOWERS
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, weights())])


def test_a_source_is_proven_on_the_programs_own_data(tmp_path):
    lifted(knows_its_width, tmp_path)
    data = {"x": np.ones((8, 5, 3), np.float32), "key": np.full(8, SECRET + 5, np.int32)}
    np.savez(tmp_path / "own.npz", **data)
    arguments = ["legacy.lift", "graph.meta", "--source=port.py"]
    refused = run(*arguments, cwd=tmp_path)
    assert refused.returncode == 2 and "--data proves it on the program's own data" in refused.stderr
    written = run(*arguments, "--data=own.npz", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "have the old graph's bits on the program's own data" in written.stdout
    assert "InputSpec((5, 3))" in (tmp_path / "port.py").read_text()
    np.savez(tmp_path / "own.npz", x=data["x"])
    lacking = run(*arguments, "--data=own.npz", cwd=tmp_path)
    assert lacking.returncode == 2 and "it must have 'key'" in lacking.stderr


def codes_of_labels():
    """A program whose second input must fit the first one, row by row, by a rule that no made-up numbers keep."""
    labels, codes = (tf.split(v1.placeholder(tf.int32, [16], name=name), TOWERS) for name in ("label", "code"))

    def gradient(tower):
        width = labels[tower] * 1000 - codes[tower]
        rows = tf.stack([tf.reduce_sum(tf.ones([number])) for number in tf.unstack(width)])
        x = tf.stack([rows, tf.cast(labels[tower], tf.float32), rows], axis=1)
        return tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(x, weights()) / 100)), [weights()])[0]

    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, weights())])


def test_a_lift_keeps_the_programs_own_batches_where_made_up_ones_do_not_run(tmp_path):
    lifted(codes_of_labels, tmp_path)
    labels = np.arange(5, 5 + 16 * 7, 7, dtype=np.int32)
    np.savez(tmp_path / "own.npz", label=labels, code=labels * 1000 - 1 - labels % 4)
    done = run("legacy.lift", "graph.meta", "--out=kept", "--data=own.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the lift keeps batches of the program's own data" in done.stdout
    setup = setup_of(str(tmp_path / "kept"))
    assert set(LiftedSynthetic(setup.job).shards(1)[0]["label"]) <= set(labels)
    assert_same(setup)


def test_settings_of_the_recording_beside_the_graph_are_kept(tmp_path):
    recording = old_programs.path("e_slim_dropout")
    done = run("legacy.lift", recording + "/graph.meta", "--out=lifted", cwd=tmp_path)
    assert done.returncode == 0 and "settings of the recording: keep_prob=0.75" in done.stdout, done.stderr
    assert kept_settings(load_lift(str(tmp_path / "lifted")).plan) == {"keep_prob": "0.75"}


def test_a_learning_rate_of_the_recording_is_assumed_and_not_kept(tmp_path, monkeypatch):
    found = analysis(tmp_path)
    plan = found.plan
    plan.common = [Input(name, "float32", [], "setting", 0, [name + ":0"], name + ":0") for name in ("keep", "rate")]
    plan.phases[0].effects[0].learning_rate = "rate:0"
    monkeypatch.setattr("legacy.lift_examples.read_examples", lambda *_: ([], {"keep": "0.75", "rate": "0.125"}))
    DataOfProgram("graph.meta", "run", {}).enter(found)
    assert kept_settings(plan) == {"keep": "0.75"} and usual_setting(plan, "rate") == 0.125


def test_a_damaged_recording_beside_the_graph_is_a_note_and_given_as_data_an_error(tmp_path):
    shutil.copytree(old_programs.path("e_slim_dropout"), tmp_path / "run")
    (tmp_path / "run" / "steps.zip").write_bytes(b"cut off")
    done = run("legacy.lift", "run/graph.meta", "--out=lifted", cwd=tmp_path)
    assert done.returncode == 0 and "the recording beside the graph is not used: --recording" in done.stdout
    refused = run("legacy.lift", "run/graph.meta", "--out=other", "--data=run", cwd=tmp_path)
    assert refused.returncode == 2 and "damaged" in refused.stderr


def analysis(tmp_path):
    """As much of an analysis as the reading of examples needs, of the small lift."""
    workload = small_lift(str(tmp_path / "lift"))
    return types.SimpleNamespace(plan=workload.plan, cut=types.SimpleNamespace(graph=workload.graph))


def test_examples_of_a_recording_are_the_batches_of_its_steps(tmp_path):
    folder = write_recording(tmp_path / "run", small_steps(2))
    batches, settings = read_examples(analysis(tmp_path), folder, {})
    assert [batch["x"].tolist() for batch in batches] == [[1, 2], [3, 4], [5, 6], [7, 8]] and settings == {}


@pytest.mark.parametrize("usual, rows, size", [(1, 6, 1), (3, 6, 3), (20, 16, 8), (None, 16, 8)])
def test_data_are_read_in_batches_that_the_old_dataset_joins_if_those_are_small(usual, rows, size, tmp_path):
    found = analysis(tmp_path)
    found.plan.batch, found.plan.usual_batch = None, usual
    found.plan.inputs[0].shape = [None]
    np.savez(tmp_path / "own.npz", x=np.arange(rows, dtype=np.float32))
    batches, _ = read_examples(found, str(tmp_path / "own.npz"), {})
    assert [len(batch["x"]) for batch in batches] == [size] * (rows // size)
    np.savez(tmp_path / "own.npz", x=np.arange(2 * size - 1, dtype=np.float32))
    with pytest.raises(InputError, match="fewer than --global_batch"):
        read_examples(found, str(tmp_path / "own.npz"), {})


def test_a_folder_that_is_no_recording_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a recording"):
        read_examples(analysis(tmp_path), str(tmp_path), {})


def test_without_data_nothing_is_entered(tmp_path):
    assert DataOfProgram(str(tmp_path / "graph.meta"), None, {}).enter(analysis(tmp_path)) == ()


def test_open_sizes_and_bounds_are_the_examples():
    words = Input("words", "int32", [None, None], "batch", 0, ["a", "b"], "words")
    image = Input("image", "float32", [4, 2], "batch", 0, ["c", "d"], "image")
    classes = Input("classes", "int64", [None], "batch", 10, ["e", "f"], "classes")
    batches = [{"words": np.array([[3, n]]), "image": np.ones((4, 2)), "classes": np.array([n])} for n in (5, 7)]
    keep_sizes([words, image, classes], batches)
    assert (words.example, words.low, words.limit) == ([None, 2], 3, 8)
    assert (image.example, image.limit) == ([], 0)
    assert (classes.example, classes.low, classes.limit) == ([], 0, 10)


@pytest.mark.parametrize(
    "rows, kind, shape", [([3, 5], "batch", [None]), ([1, 1], "whole", [1]), ([1, 5], "batch", None)]
)
def test_an_input_of_unknown_rank_is_no_batch_if_it_never_has_its_rows(rows, kind, shape):
    """As a number for each tower, such as the probability to keep in its dropout."""
    image = Input("image", "float32", [None, 2], "batch", 0, ["a", "b"], "image")
    other = Input("other", "float32", None, "batch", 0, ["c", "d"], "other")
    batches = [{"image": np.ones([n, 2]), "other": np.ones([own])} for n, own in zip((3, 5), rows)]
    keep_sizes([image, other], batches)
    assert (other.kind, other.shape) == (kind, shape)


@pytest.mark.parametrize(
    "lengths, chosen",
    [([5, 4, 5, 5], [0, 2]), ([5, 5, 4, 4], [0, 1]), ([5, 4, 4, 4], [0, 0])],
)
def test_a_source_is_proven_on_batches_of_the_sizes_that_it_has(monkeypatch, lengths, chosen):
    words = Input("words", "float32", [2, None, 3], "batch", 0, ["a", "b"], "words")
    count = Input("count", "int32", [None], "batch", 10, ["c", "d"], "count")  # as many as there are
    batches = [
        {"words": np.full([2, length, 3], place), "count": np.ones(1 + place)} for place, length in enumerate(lengths)
    ]
    plan = types.SimpleNamespace(inputs=[words, count], common=[], towers=2, own_batches={"words": ""})
    keep_sizes(plan.inputs, batches)
    data = DataOfProgram("graph.meta", "own.npz", {})
    monkeypatch.setattr(data, "_batches", batches)
    assert [int(batch["words"][0, 0, 0]) for batch in data.examples(plan)] == chosen


def test_a_source_is_proven_on_batches_of_one_value_of_each_scalar(monkeypatch):
    entries = [Input("x", "float32", [2, 3], "batch", 0, ["a", "b"], "x")]
    entries.append(Input("graphs", "int32", [], "setting", 0, ["graphs:0", "graphs:0"], "graphs"))
    batches = [{"x": np.full([2, 3], place), "graphs": np.array(count)} for place, count in enumerate((2, 3, 2, 3))]
    plan = types.SimpleNamespace(inputs=entries, common=[], towers=2, own_batches=4)
    data = DataOfProgram("graph.meta", "run", {})
    monkeypatch.setattr(data, "_batches", batches)
    assert [int(batch["x"][0, 0]) for batch in data.examples(plan)] == [0, 2]


def parts_of_examples():
    """A program of parts that each belong to one of a fed number of examples, which no made-up numbers keep."""
    x, owner = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.int32, [None], "owner")
    sums = tf.raw_ops.UnsortedSegmentSum(
        data=tf.matmul(x, weights()), segment_ids=owner, num_segments=v1.placeholder(tf.int32, [], "count")
    )
    return v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.tanh(sums)))


def test_a_number_of_the_programs_own_batches_is_assumed_where_a_source_is_proven_on_them(tmp_path):
    setup = lifted(parts_of_examples, tmp_path)
    plan = setup.job.workload.plan
    batch = {"x": np.ones([6, 3], np.float32), "owner": np.array([0, 2, 1, 1, 2, 0], np.int32), "count": np.array(3)}
    program = OldProgram(plan, setup.job.workload.graph, setup.job.workload.graph, setup.job.workload.values())
    with pytest.raises(InputError, match="segment_ids"):
        source_text(program, SourceOptions({"count": "1"}, "workload", "", [batch]))
    made = source_text(program, SourceOptions({}, "workload", "", [batch]))
    assert "COUNT = 3" in made.text and any("count=3" in note for note in made.notes)
