"""Variables that the forward pass assigns, and that the gradients or the loss use behind the assignment."""

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


def recurrent(ordered=True, then=None, use_resource=False):
    """A graph whose state's gradient function uses the state itself: the product's gradient to the gate."""
    xs = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x"), TOWERS)
    kept = states(use_resource)

    def gradient(i):
        gate = tf.sigmoid(tf.matmul(xs[i], weights()))
        new = kept[i] * gate + gate
        assigns = [v1.assign(kept[i], new)]
        if then is not None:
            with tf.control_dependencies(assigns):
                assigns.append(then(kept[i]))
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


def assert_as_in_a_session(setup, tmp_path):
    """Asserts that a step of the lift leaves what a step of the saved graph as it is leaves."""
    with setup.legacy_program() as program:
        before = program.state()
        x = np.concatenate([shard["x"] for shard in setup.make_source(setup.job).shards(0)])
        after = program.step().state
    values = {**before.weights, **before.slots, **before.statistics}
    train_op = setup.job.workload.plan.phases[0].train_op
    found = in_a_session(str(tmp_path / "graph.meta"), train_op, values, x)
    for name, value in {**after.weights, **after.slots, **after.statistics}.items():
        np.testing.assert_array_equal(found[name], value, name)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_state_that_is_read_after_its_assignment(tmp_path, use_resource):
    setup = lifted(lambda: recurrent(use_resource=use_resource), tmp_path)
    plan = setup.job.workload.plan
    assert any(NOTE in note for note in plan.notes)
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


def test_a_read_that_nothing_orders_takes_the_value_before_the_step(tmp_path):
    setup = lifted(lambda: recurrent(ordered=False), tmp_path)
    assert not any(NOTE in note for note in setup.job.workload.plan.notes)
    assert_same(setup)


ROWS = [1, 0, 1]
CHANGES = {
    "add": lambda state: v1.assign_add(state, tf.ones([BATCH, 2])),
    "subtract": lambda state: v1.assign_sub(state, tf.ones([BATCH, 2])),
    "add to rows": lambda state: v1.scatter_add(state, ROWS, tf.ones([3, 2])),
    "subtract from rows": lambda state: v1.scatter_sub(state, ROWS, tf.ones([3, 2])),
    "set rows": lambda state: v1.scatter_update(state, ROWS[1:], tf.ones([2, 2])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_that_is_assigned_and_changed_again(tmp_path, change):
    setup = lifted(lambda: recurrent(then=CHANGES[change]), tmp_path)
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


def test_a_state_that_is_changed_by_one_number_for_all_rows_is_refused(tmp_path):
    with tf.Graph().as_default():
        name = recurrent(then=lambda state: v1.scatter_add(state, ROWS, tf.constant(1.0))).name
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with pytest.raises(InputError, match="after the step changed it"):
        analyse_graph(read_graph_file(str(tmp_path / "graph.meta")), "twice", [name])


def spectral(shared):
    """A graph that divides its weights by their norm along a vector that each tower's forward pass turns."""
    xs = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x"), TOWERS)
    vectors = [plain("u", [1, 2], 0.5)] * TOWERS if shared else [plain(f"u_{i}", [1, 2], 0.5) for i in range(TOWERS)]

    def gradient(i):
        turned = tf.matmul(tf.matmul(vectors[i], weights(), transpose_b=True), weights())
        with tf.control_dependencies([v1.assign(vectors[i], turned)]):
            scaled = tf.identity(weights() / tf.reduce_sum(tf.square(turned)))
        loss = tf.reduce_mean(tf.square(tf.matmul(xs[i], scaled)))
        return tf.gradients(loss, weights())[0]

    return mean_of(towers(gradient))


def test_a_vector_that_each_tower_turns_in_its_forward_pass(tmp_path):
    setup = lifted(lambda: spectral(shared=False), tmp_path)
    assert any(NOTE in note for note in setup.job.workload.plan.notes)
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


def test_a_vector_that_all_towers_turn_has_the_value_of_the_tower_that_uses_it(tmp_path):
    setup = lifted(lambda: spectral(shared=True), tmp_path)
    (vector,) = [variable for variable in setup.job.workload.plan.variables if variable.name == "u"]
    assert vector.shape == [1, 2]
    assert any(race.variable == "u" for race in setup.job.workload.plan.phases[0].races)
    assert_same(setup)


def warped():
    """A graph whose towers add rows to a variable of zeros, and weigh the loss by it."""
    xs = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], name="x"), TOWERS)

    def gradient(i):
        memory = plain(f"memory_{i}", [BATCH, 3])
        with tf.control_dependencies([v1.assign(memory, tf.zeros([BATCH, 3]))]):
            added = v1.scatter_add(memory, [2, 0, 2], xs[i][:3])
            added = v1.scatter_add(added, [1, 1, 2], xs[i][1:])
        loss = tf.reduce_mean(tf.square(tf.matmul(xs[i] * tf.reshape(added, [BATCH, 3]), weights())))
        return tf.gradients(loss, weights())[0]

    return mean_of(towers(gradient))


def test_a_memory_that_each_step_assigns_before_it_is_used_is_no_state(tmp_path):
    setup = lifted(warped, tmp_path)
    assert [variable.name for variable in setup.job.workload.plan.variables] == ["net/w"]
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


def padded(rows=(0, 0), values=(0.0, 0.0), returns_loss=False):
    """A graph whose towers set a row of a trained embedding before they look words up, as of the padding."""
    words = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, 3], name="words"), TOWERS)
    table = v1.get_variable("table", [4, 2], initializer=v1.initializers.ones(), use_resource=False)
    losses = []

    def gradient(i):
        with tf.control_dependencies([v1.scatter_update(table, [rows[i]], [[values[i]] * 2])]):
            losses.append(tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, words[i]) + 0.5)))
        return tf.gradients(losses[-1], table)[0]

    both = towers(gradient)
    joined = tf.IndexedSlices(
        tf.concat([one.values / TOWERS for one in both], 0), tf.concat([one.indices for one in both], 0)
    )
    train = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(joined, table)])
    if not returns_loss:
        return train
    with tf.control_dependencies([train]):  # as `tf.contrib.layers.optimize_loss` returns it
        return tf.identity(tf.add_n(losses) / TOWERS).op


@pytest.mark.parametrize("returns_loss", [False, True])
def test_a_row_of_a_weight_that_each_tower_sets_before_it_is_looked_up(tmp_path, returns_loss):
    setup = lifted(lambda: padded(returns_loss=returns_loss), tmp_path)
    plan = setup.job.workload.plan
    assert any(NOTE in note for note in plan.notes) and not plan.phases[0].races
    assert_same(setup)
    with setup.legacy_program() as program:
        program.step()
        assert np.any(program.state().weights["table"][0])  # trained behind the zeros


@pytest.mark.parametrize("rows, values", [((0, 1), (0.0, 0.0)), ((0, 0), (0.0, 1.0))])
def test_rows_that_the_towers_set_otherwise_are_refused(tmp_path, rows, values):
    with tf.Graph().as_default():
        name = padded(rows, values).name
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with pytest.raises(InputError, match="after the step changed it"):
        analyse_graph(read_graph_file(str(tmp_path / "graph.meta")), "padded", [name])
