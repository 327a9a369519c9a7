"""A recurrent state in variables that the forward pass assigns, and that the gradients use behind the assignment."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.graph_file import read_graph_file
from legacy.towers.program import session_config
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, mean_of, plain, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1
NOTE = "after the step has assigned"


def states(use_resource=False):
    if use_resource:
        return [v1.get_variable(f"state_{i}", [BATCH, 2], trainable=False, use_resource=True) for i in range(TOWERS)]
    return [plain(f"state_{i}", [BATCH, 2], 0.5) for i in range(TOWERS)]


def recurrent(ordered=True, written_twice=False, use_resource=False):
    """A graph whose state's gradient function uses the state itself: the product's gradient to the gate."""
    xs = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x"), TOWERS)
    kept = states(use_resource)

    def gradient(i):
        gate = tf.sigmoid(tf.matmul(xs[i], weights()))
        new = kept[i] * gate + gate
        assigns = [v1.assign(kept[i], new)]
        if written_twice:
            with tf.control_dependencies(assigns):
                assigns.append(v1.assign_add(kept[i], tf.ones([BATCH, 2])))
        with tf.control_dependencies(assigns if ordered else []):
            loss = tf.reduce_mean(tf.square(new + (kept[i].read_value() if use_resource else 0.0)))
            updates.extend(assigns)
            return tf.gradients(loss, weights())[0]

    updates = []
    return tf.group(mean_of(towers(gradient)), *updates)


def in_a_session(path, train_op, values, x):
    """{variable: value} after a step of the saved graph as it is."""
    with tf.Graph().as_default(), v1.Session(config=session_config(["CPU:0"], True)) as session:
        v1.train.import_meta_graph(path)
        graph = tf.compat.v1.get_default_graph()
        variables = {v.op.name: v for v in v1.global_variables()}
        for name, value in values.items():
            variables[name].load(value, session)
        session.run(graph.get_operation_by_name(train_op), {"x:0": x})
        return session.run({name: variables[name] for name in values})


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_state_that_is_read_after_its_assignment(tmp_path, use_resource):
    setup = lifted(lambda: recurrent(use_resource=use_resource), tmp_path)
    plan = setup.job.workload.plan
    assert any(NOTE in note for note in plan.notes)
    assert_same(setup)
    with setup.legacy_program() as program:
        before = program.state()
        x = np.concatenate([shard["x"] for shard in setup.make_source(setup.job).shards(0)])
        after = program.step().state
    values = {**before.weights, **before.statistics}
    found = in_a_session(str(tmp_path / "graph.meta"), plan.phases[0].train_op, values, x)
    for name, value in {**after.weights, **after.statistics}.items():
        np.testing.assert_array_equal(found[name], value, name)


def test_a_read_that_nothing_orders_takes_the_value_before_the_step(tmp_path):
    setup = lifted(lambda: recurrent(ordered=False), tmp_path)
    assert not any(NOTE in note for note in setup.job.workload.plan.notes)
    assert_same(setup)


def test_a_state_that_is_changed_twice_is_refused(tmp_path):
    with tf.Graph().as_default():
        name = recurrent(written_twice=True).name
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with pytest.raises(InputError, match="after the step changed it"):
        analyse_graph(read_graph_file(str(tmp_path / "graph.meta")), "twice", [name])
