"""Each hazard of a tower program is read from its graph, and a program without them shows none."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis import analyse
from legacy.saved.graph import graph_file
from legacy.saved.hazards.search import find_hazards
from legacy.saved.report import page
from tests.cases import Everything, setup

v1 = tf.compat.v1
TOWERS, BATCH = 2, 8


def tower_program(
    path,
    combine="mean",
    apply=True,
    reuse=True,
    extra_on=None,
    penalty_on=(0, 1),
    penalty_used=True,
    statistics_of=None,
    divide_by=None,
    step_times=1,
    step_adds=1,
    feed_same=False,
    rate="schedule",
    count_steps=True,
    summaries=(0, 1),
    devices=("/gpu:0", "/gpu:1"),
    inner_device=None,
):
    """Saves the graph of a small tower program, correct by default, and returns its path."""
    with tf.Graph().as_default() as graph:
        step = v1.get_variable("global_step", [], tf.int64, v1.zeros_initializer(), trainable=False)
        x = v1.placeholder(tf.float32, [BATCH * TOWERS if not feed_same else BATCH, 4], "x")
        parts = [x] * TOWERS if feed_same else tf.split(x, TOWERS)
        gradients, losses, moments = [], [], []
        for tower in range(TOWERS):
            with tf.device(devices[tower]), v1.name_scope(f"tower_{tower}"):
                with v1.variable_scope("" if reuse else f"own_{tower}", reuse=reuse and tower > 0):
                    w = v1.get_variable("w", [4, 3])
                with tf.device(inner_device):
                    y = tf.matmul(tf.tanh(parts[tower]), w)
                if extra_on is None or tower == extra_on:
                    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
                        y = y * v1.get_variable("extra", [3])
                per_example = tf.reduce_sum(tf.square(y - 1.0), 1)
                loss = tf.reduce_mean(per_example) if divide_by is None else tf.reduce_sum(per_example) / divide_by
                if tower in penalty_on:
                    penalty = 0.01 * tf.nn.l2_loss(w)
                    loss = loss + penalty if penalty_used else loss
                losses.append(loss)
                moments.append(tf.reduce_mean(y, 0))
                variables = [v for v in v1.trainable_variables() if reuse or f"own_{1 - tower}" not in v.name]
                gradients.append(dict(zip([v.name for v in variables], tf.gradients(loss, variables))))
                if tower in summaries:
                    v1.summary.scalar("loss", loss)
        shown = tf.cast(step, tf.float32) * step_times
        decayed = v1.train.exponential_decay(0.1, shown, 10, 0.5)
        optimizer = v1.train.GradientDescentOptimizer(decayed if rate == "schedule" else 0.1)
        if apply:
            pairs = []
            for variable in v1.trainable_variables():
                values = [g[variable.name] for g in gradients if g.get(variable.name) is not None]
                if combine == "last":
                    values = values[-1:]
                pairs.append((tf.add_n(values) / float(len(values)), variable))
            train = [optimizer.apply_gradients(pairs)]
            if count_steps:
                train.append(v1.assign_add(step, tf.constant(step_adds, tf.int64)))
            if statistics_of is not None:
                moving = v1.get_variable("moving_mean", [3], trainable=False)
                train.append(v1.assign_sub(moving, 0.1 * (moving - moments[statistics_of])))
            tf.group(*train, name="train")
        v1.train.export_meta_graph(str(path), graph=graph)
    return str(path)


def found(path):
    """Names of the hazards of a saved graph."""
    return [row["hazard"] for row in page.inspect_graph(path)["hazards"]]


def test_a_correct_program_has_none(tmp_path):
    assert found(tower_program(tmp_path / "graph.meta")) == []


@pytest.mark.parametrize(
    "hazard, fault",
    [
        ("TOWER_ON_CPU", {"inner_device": "/cpu:0"}),
        ("GRADIENTS_DROPPED", {"combine": "last"}),
        ("GRADIENTS_NOT_APPLIED", {"apply": False}),
        ("VARIABLES_NOT_SHARED", {"reuse": False}),
        ("VARIABLE_OF_SOME_TOWERS", {"extra_on": 1}),
        ("REGULARIZATION_ONCE", {"penalty_on": (0,)}),
        ("REGULARIZATION_LOST", {"penalty_used": False}),
        ("STATISTICS_OF_ONE_TOWER", {"statistics_of": 1}),
        ("BATCH_SIZE_CONSTANT", {"divide_by": 32.0}),
        ("SCHEDULE_COUNTS_TOWERS", {"step_times": 2.0}),
        ("STEP_COUNTS_TOWERS", {"step_adds": 2}),
        ("SAME_BATCH", {"feed_same": True}),
        ("LEARNING_RATE_FROZEN", {"rate": "constant"}),
        ("LEARNING_RATE_FROZEN", {"count_steps": False}),
        ("REPORTED_BY_ONE_TOWER", {"summaries": (1,)}),
    ],
)
def test_each_is_found(hazard, fault, tmp_path):
    names = found(tower_program(tmp_path / "graph.meta", **fault))
    assert hazard in names
    others = set(names) - {hazard}
    assert others <= {"GRADIENTS_DROPPED", "TOWERS_UPDATE_ALONE"}, "a fault of sharing shows in the update too"


def test_the_page_says_which_op_and_what_to_do(tmp_path):
    rows = page.inspect_graph(tower_program(tmp_path / "graph.meta", inner_device="/cpu:0"))["hazards"]
    assert rows[0]["op"].startswith("tower_0/")
    assert "100%" in rows[0]["what"] and "tf.device" in rows[0]["in tf.distribute"]


def test_system_1s_fault_in_the_towers_of_this_project(tmp_path):
    for pinned in (False, True):
        made = setup(Everything(), 2, legacy={"pin_towers_to_cpu": pinned})
        with made.legacy_program() as program:
            program.export(str(tmp_path / str(pinned)))
        saved = graph_file.read_graph_file(str(tmp_path / str(pinned) / "graph.meta"))
        names = [row["hazard"] for row in find_hazards(saved, analyse.analyse_graph(saved, "x"))]
        assert ("TOWER_ON_CPU" in names) == pinned


def test_constants_are_read_as_numbers():
    with tf.Graph().as_default() as graph:
        tf.constant(3.5, name="number")
        tf.constant(np.arange(3), name="vector")
        nodes = {node.name: node for node in graph.as_graph_def().node}
    from legacy.saved.facts.basics.whole_graph import scalar_constant

    assert scalar_constant(nodes["number"]) == 3.5
    assert scalar_constant(nodes["vector"]) is None
