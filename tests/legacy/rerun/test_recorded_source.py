"""Batches and random numbers of a recorded run."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.small_lift import small_graph, small_lift, small_plan
from workloads.job import Job
from workloads.lifted.folder import write_lift
from workloads.lifted.plan import Noise, TensorType
from workloads.lifted.workload import load_lift
from workloads.sources import Source
from workloads.support.errors import InputError


def source_of(tmp_path, steps, workload=None):
    workload = workload or small_lift(str(tmp_path / "lift"))
    recorded = RecordedSteps(write_recording(tmp_path / "run", steps), workload.plan)
    return RecordedSource(Job(workload, 2), recorded)


def test_each_tower_gets_what_it_got(tmp_path):
    source = source_of(tmp_path, small_steps(2))
    assert source.noise == "drawn"
    assert [shard["x"].tolist() for shard in source.shards(1)] == [[5, 6], [7, 8]]
    assert [shard["x"].tolist() for shard in source.shards(9)] == [[5, 6], [7, 8]]  # the last step, again


def test_random_numbers_come_with_the_batch(tmp_path):
    steps = small_steps(1)
    steps[0].update({"tensors/g0:0": np.float32(1), "tensors/g0:1": np.float32(2), "tensors/g1:0": np.float32(3)})
    noise = [Noise("a", "RandomUniform", "keyed", ["g0", "g1"]), Noise("c", "RandomUniform", "keyed", ["total", None])]
    workload = small_lift(str(tmp_path / "lift"), lambda plan: plan.noise.extend(noise))
    first, second = source_of(tmp_path, steps, workload).shards(0)
    assert {name: value for name, value in first.items() if name != "x"} == {"noise/a/0": 1, "noise/a/1": 2}
    assert {name: value for name, value in second.items() if name != "x"} == {"noise/a/0": 3}


def test_sizes_that_differ_by_step_or_tower_are_open(tmp_path):
    """Dropout on batches that are padded to their longest example."""
    steps = small_steps(2)
    for step, (first, second) in zip(steps, [((4, 3), (4, 3)), ((4, 3), (2, 3))]):
        step.update({"tensors/g0:0": np.zeros(first, np.float32), "tensors/g1:0": np.zeros(second, np.float32)})
    steps[1]["tensors/total:0"] = np.zeros(5, np.float32)
    noise = [Noise("a", "RandomUniform", "keyed", ["g0", "g1"]), Noise("c", "RandomUniform", "keyed", [None, "total"])]
    workload = small_lift(str(tmp_path / "lift"), lambda plan: plan.noise.extend(noise))
    source = source_of(tmp_path, steps, workload)
    assert source.shapes() == {"x": (2,), "noise/a/0": (None, 3), "noise/c/0": (5,)}
    assert Source.shapes(source) == {"x": (2,), "noise/a/0": (4, 3), "noise/c/0": (5,)}  # of one step and tower


def test_what_was_not_recorded_is_reported(tmp_path):
    steps = small_steps(1)
    del steps[0]["tensors/x1:0"]
    with pytest.raises(InputError, match="--recording: step 0 does not hold 'x1:0'"):
        source_of(tmp_path, steps).shards(0)


def test_inputs_are_computed_from_the_recorded_tensor_that_they_are_made_from(tmp_path):
    """The towers' inputs are the halves of one recorded placeholder."""
    graph_def = small_graph().graph_def
    with tf.Graph().as_default() as graph:
        whole = tf.compat.v1.placeholder(tf.float32, [4], name="batch")
        split = tf.split(whole * 2.0, 2, name="halves")
        tf.import_graph_def(graph_def, input_map={f"x{k}:0": split[k] for k in range(2)}, name="")
    plan = small_plan()
    plan.inputs[0].tensors, plan.sources = ["halves:0", "halves:1"], {"batch": "queue/dequeue:0"}
    plan.tensors.update({f"halves:{k}": TensorType("float32", [2]) for k in range(2)})
    write_lift(str(tmp_path / "lift"), plan, graph.as_graph_def(), {"w": np.float32(2)})
    workload = load_lift(str(tmp_path / "lift"))
    steps = [{"tensors/queue/dequeue:0": np.float32([1, 2, 3, 4])}]
    source = source_of(tmp_path, steps, workload)
    assert [shard["x"].tolist() for shard in source.shards(0)] == [[2, 4], [6, 8]]


@pytest.mark.parametrize("draw", [tf.random.normal, tf.random.truncated_normal])
def test_inputs_that_the_graph_draws_are_those_that_the_run_drew(tmp_path, draw):
    """The towers' inputs are the halves of random numbers, whatever op draws them."""
    with tf.Graph().as_default() as graph:
        split = tf.split(draw([4], name="draw") * 2.0, 2, name="halves")
        tf.import_graph_def(small_graph().graph_def, input_map={f"x{k}:0": split[k] for k in range(2)}, name="")
    (name,) = [node.name for node in graph.as_graph_def().node if "Normal" in node.op]
    plan = small_plan()
    plan.inputs[0].tensors, plan.sources = ["halves:0", "halves:1"], {}
    plan.tensors.update({f"halves:{k}": TensorType("float32", [2]) for k in range(2)})
    write_lift(str(tmp_path / "lift"), plan, graph.as_graph_def(), {"w": np.float32(2)})
    source = source_of(tmp_path, [{f"tensors/{name}:0": np.float32([1, 2, 3, 4])}], load_lift(str(tmp_path / "lift")))
    assert [shard["x"].tolist() for shard in source.shards(0)] == [[2, 4], [6, 8]]
