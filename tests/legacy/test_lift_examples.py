"""`legacy.lift --data`: a graph that runs with its own data only, and what made-up data take over from examples."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.lift_examples import keep_sizes, read_examples
from tests.commands import run
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.legacy.variants.programs import TOWERS, lifted, towers, weights
from tests.small_lift import small_lift
from workloads.lifted.plan import Input
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
    assert "have the old graph's bits on the examples in --data" in written.stdout
    assert "InputSpec((5, 3))" in (tmp_path / "port.py").read_text()
    np.savez(tmp_path / "own.npz", x=data["x"])
    lacking = run(*arguments, "--data=own.npz", cwd=tmp_path)
    assert lacking.returncode == 2 and "it must have 'key'" in lacking.stderr


def analysis(tmp_path):
    """As much of an analysis as the reading of examples needs, of the small lift."""
    workload = small_lift(str(tmp_path / "lift"))
    return types.SimpleNamespace(plan=workload.plan, cut=types.SimpleNamespace(graph=workload.graph))


def test_examples_of_a_recording_are_its_first_step(tmp_path):
    folder = write_recording(tmp_path / "run", small_steps(2))
    batches = read_examples(analysis(tmp_path), folder, {})
    assert [batch["x"].tolist() for batch in batches] == [[1, 2], [3, 4]]


def test_a_folder_that_is_no_recording_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a recording"):
        read_examples(analysis(tmp_path), str(tmp_path), {})


def test_open_sizes_and_bounds_are_the_examples():
    words = Input("words", "int32", [None, None], "batch", 0, ["a", "b"], "words")
    image = Input("image", "float32", [4, 2], "batch", 0, ["c", "d"], "image")
    classes = Input("classes", "int64", [None], "batch", 10, ["e", "f"], "classes")
    batches = [{"words": np.array([[3, n]]), "image": np.ones((4, 2)), "classes": np.array([n])} for n in (5, 7)]
    keep_sizes([words, image, classes], batches)
    assert (words.example, words.low, words.limit) == ([None, 2], 3, 8)
    assert (image.example, image.limit) == ([], 0)
    assert (classes.example, classes.low, classes.limit) == ([], 5, 10)
