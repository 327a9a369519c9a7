"""Lifting a saved graph: from the file to the folder."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.initial_values import held_text
from legacy.saved.facts.basics.unsafe_ops import python_note
from legacy.saved.lifting import LiftOptions, lift_graph, require_equal_parts, require_safe
from tests.legacy.saved.graphs import traced
from tests.small_lift import small_plan
from workloads.lifted.folder import read_lift
from workloads.lifted.workload import load_lift
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.fixture(name="graph_file")
def write_graph_file(tmp_path):
    """A program of one tower: plain SGD on the sum of w * x."""
    with tf.Graph().as_default():
        w = v1.get_variable("w", [3], initializer=v1.constant_initializer([1.0, 2.0, 4.0]), use_resource=False)
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * x), name="train")
        path = str(tmp_path / "program.meta")
        v1.train.export_meta_graph(path)
    return path


def test_a_graph_file_becomes_a_folder_that_is_a_workload(graph_file, tmp_path):
    told = []
    plan = lift_graph(graph_file, str(tmp_path / "lift"), progress=told.append)
    assert plan == read_lift(str(tmp_path / "lift")).plan
    assert (plan.name, plan.towers, [v.name for v in plan.variables]) == ("program", 1, ["w"])
    assert plan.about["graph"] == "program.meta" and plan.phases[0].train_op == "train"
    assert load_lift(str(tmp_path / "lift")).initial_state().weights["w"].tolist() == [1, 2, 4]
    assert [text.split(" ")[0] for text in told] == ["reading", "taking", "collecting", "trying", "writing"]


def test_the_analysis_and_the_values_can_be_used_without_a_folder(graph_file, tmp_path):
    used = []
    plan = lift_graph(graph_file, None, use=lambda found, start: used.append((found.plan, start["w"].tolist())))
    assert used == [(plan, [1, 2, 4])] and [path.name for path in tmp_path.iterdir()] == ["program.meta"]


def test_values_come_from_a_checkpoint_if_one_is_given(graph_file, tmp_path):
    from workloads.lifted.checkpoint import write_by_name

    write_by_name(str(tmp_path / "model.ckpt"), {"w": np.float32([5, 6, 7])})
    lift_graph(graph_file, str(tmp_path / "lift"), str(tmp_path / "model.ckpt"), LiftOptions(name="mine"))
    workload = load_lift(str(tmp_path / "lift"))
    assert workload.name == "mine" and workload.initial_state().weights["w"].tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "value, feed, told",
    [
        (
            False,
            {},
            ["the checkpoint holds mode = False, which is not taken; if the program trained so: --feed=mode=false"],
        ),
        (True, {}, []),
        (False, {"mode": "true"}, []),
        (False, {"mode": "false"}, []),
    ],
)
def test_a_switch_that_the_checkpoint_holds_otherwise_is_named(value, feed, told, tmp_path):
    """A variable says whether inputs get noise, as tflearn's is_training does."""
    from workloads.lifted.checkpoint import write_by_name

    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        mode = v1.get_variable("mode", [], tf.bool, trainable=False, use_resource=False)
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        seen = v1.cond(mode, lambda: x + v1.random_uniform([2, 3]), lambda: tf.identity(x))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * seen), name="train")

    (tmp_path / "program.pb").write_bytes(traced(build).graph_def.SerializeToString())
    write_by_name(str(tmp_path / "model.ckpt"), {"w": np.ones(3, "f"), "mode": np.array(value)})
    notes = []
    plan = lift_graph(
        str(tmp_path / "program.pb"),
        None,
        str(tmp_path / "model.ckpt"),
        LiftOptions(feed=feed),
        use=lambda found, start: notes.append(held_text(found.start.held)),
    )
    assert [note for note in notes if note] == [note for note in plan.notes if "holds" in note] == told


@pytest.mark.parametrize("sizes, batch", [([2, 6], 2), ([-1, 6], None)])
def test_a_graph_that_reshapes_its_batch_to_constant_sizes_takes_no_other(sizes, batch, tmp_path):
    with tf.Graph().as_default():
        w = v1.get_variable("w", [3], initializer=v1.ones_initializer(), use_resource=False)
        layer = w * v1.placeholder(tf.float32, [None, 2, 3], name="x")
        loss = tf.reduce_mean(tf.square(tf.reshape(tf.nn.relu(layer), sizes)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")
        path = str(tmp_path / "program.meta")
        v1.train.export_meta_graph(path)
    assert lift_graph(path, str(tmp_path / "lift")).batch == batch
    assert load_lift(str(tmp_path / "lift")).default_global_batch(3) == 3 * (batch or 8)


def test_the_lift_of_the_same_graph_has_the_same_digest(graph_file, tmp_path):
    for name in ("a", "b"):
        lift_graph(graph_file, str(tmp_path / name))
    assert read_lift(str(tmp_path / "a")).digest == read_lift(str(tmp_path / "b")).digest


def test_unsafe_ops_are_refused_unless_their_types_are_allowed():
    plan = small_plan()
    require_safe(plan, [])
    plan.unsafe = {"mask": "PyFunc", "file": "ReadFile"}
    with pytest.raises(InputError, match=r"file \(ReadFile\), mask \(PyFunc\); .* --allow_ops=PyFunc,ReadFile"):
        require_safe(plan, [])
    with pytest.raises(InputError, match="--allow_ops=ReadFile$"):
        require_safe(plan, ["PyFunc"])
    require_safe(plan, ["PyFunc", "ReadFile"])


def test_python_in_the_model_is_refused_or_its_results_are_data():
    plan = small_plan()
    assert python_note(plan) == ""
    plan.unsafe, plan.sources = {"mask": "PyFunc", "file": "ReadFile"}, {"mask__1": "mask:1"}
    with pytest.raises(
        InputError, match=r"code is not in the graph: mask \(PyFunc\); .*=PyFunc a lift takes its results"
    ):
        require_safe(plan, ["ReadFile"])
    require_safe(plan, ["PyFunc", "ReadFile"])
    assert python_note(plan).startswith("data for mask: ")


def test_towers_of_unequal_parts_are_refused():
    plan = small_plan()
    require_equal_parts(plan)
    entry = next(entry for entry in plan.inputs if entry.kind == "batch")
    last = plan.tensors[entry.tensors[-1]]
    plan.tensors[entry.tensors[-1]] = last._replace(shape=[36, *last.shape[1:]])
    with pytest.raises(InputError, match=f"36 rows of {entry.name}, and replicas take equal numbers"):
        require_equal_parts(plan)
