"""Statistics and counters that each tower changes: what trains by them fixes the number of towers."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.other_numbers.changes_in_turn import changed_by_several, is_set_alike
from legacy.saved.report.page import inspect_graph
from tests.legacy.saved.analysis.other_numbers.built import (
    assert_as_built,
    assert_own_number,
    in_towers,
    lift_of,
    parts,
    results,
    trained,
    variable,
)
from tests.legacy.variants.programs import setup_of
from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Effect, Variable

v1 = tf.compat.v1


def counted(raise_in_tower, after=None):
    """A program whose rate follows a counter that each tower raises, or that is raised by `after(towers)`."""

    def build(towers):
        xs, w, count = parts(towers), variable("w", [3, 2]), variable("count", [], False, 0.0)
        raised = []

        def loss(tower):
            if raise_in_tower(tower):
                raised.append(v1.assign_add(count, 1.0))
            return tf.reduce_mean(results(xs[tower]) ** 2)

        losses = in_towers(towers, loss)
        mean = tf.add_n([tf.gradients(one, [w])[0] for one in losses]) / towers
        rate = v1.train.exponential_decay(0.5, count, 4, 0.5)
        with tf.control_dependencies(raised):
            train = v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, w)], name="train")
        if after is None:
            return train
        with tf.control_dependencies([train]):
            return v1.assign_add(count, after(towers), name="raised")

    return build


def averaged(in_tower):
    """A program of which towers move an average of their loss that nothing reads."""

    def build(towers):
        xs, mean, moved = parts(towers), variable("mean", [], False, 0.0), []

        def loss(tower):
            found = tf.reduce_mean(results(xs[tower]) ** 2)
            if in_tower(tower):
                moved.append(v1.assign_sub(mean, 0.25 * (mean - found)))
            return found

        losses = in_towers(towers, loss)
        with tf.control_dependencies(moved):
            return trained(losses)

    return build


def test_a_counter_that_each_tower_raises_and_the_rate_follows(tmp_path):
    reason = "each tower changes net/count in turn, by which the program trains"
    assert_own_number(counted(lambda tower: True), reason, tmp_path)


def test_a_counter_that_is_raised_by_the_number_of_towers(tmp_path):
    reason = "a step raises net/count by 2, which may be one for each tower"
    assert_own_number(counted(lambda tower: False, float), reason, tmp_path)


def test_a_counter_that_is_raised_once(tmp_path):
    assert_as_built(counted(lambda tower: False, lambda towers: 1.0), tmp_path)


def raised_twice(towers):
    """A program whose rate follows a counter that the optimizer and another op raise, after the update."""
    xs, w, count = parts(towers), variable("w", [3, 2]), variable("count", [], False, 0.0)
    rate = v1.train.exponential_decay(0.5, count, 4, 0.5)
    losses = in_towers(towers, lambda tower: tf.reduce_mean(results(xs[tower]) ** 2))
    mean = tf.add_n([tf.gradients(one, [w])[0] for one in losses]) / towers
    train = v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, w)], count, name="train")
    with tf.control_dependencies([train]):
        return v1.assign_add(count, 1.0, name="raised")


def set_back(towers):
    """A program that adds gradients up, and sets their sum back after the update."""
    xs, w, total = parts(towers), variable("w", [3, 2]), variable("total", [3, 2], False, np.zeros([3, 2]))
    losses = in_towers(towers, lambda tower: tf.reduce_mean(results(xs[tower]) ** 2))
    added = v1.assign_add(total, tf.add_n([tf.gradients(one, [w])[0] for one in losses]) / towers)
    update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(added * 1.0, w)])
    with tf.control_dependencies([update]):
        return v1.assign(total, total * 0.5, name="train")


def raised_beside(ops):
    """A program whose rate follows a counter that the optimizer raises, and `ops(towers)` ops that wait for nothing."""

    def build(towers):
        xs, w, count = parts(towers), variable("w", [3, 2]), variable("count", [], False, 0.0)
        rate = v1.train.exponential_decay(0.5, count, 4, 0.5)
        losses = in_towers(towers, lambda tower: tf.reduce_mean(results(xs[tower]) ** 2))
        mean = tf.add_n([tf.gradients(one, [w])[0] for one in losses]) / towers
        train = v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, w)], count)
        with tf.control_dependencies([rate]):
            return tf.group(train, *[v1.assign_add(count, 1.0) for _ in range(ops(towers))], name="all")

    return build


def test_a_counter_that_each_of_as_many_ops_as_towers_raises_is_changed_in_turn(tmp_path):
    reason = "each tower changes net/count in turn, by which the program trains"
    assert_own_number(raised_beside(lambda towers: towers), reason, tmp_path)


@pytest.mark.parametrize("build", [raised_twice, raised_beside(lambda towers: 1), set_back])
def test_changes_that_all_towers_make_together_are_as_many_at_any_number(build, tmp_path):
    assert_as_built(build, tmp_path)
    page = inspect_graph(str(tmp_path / "few" / "graph.meta"))
    assert not any("in turn" in row["what"] for row in page["watch"])


def raised_late(towers):
    """A program in which each tower raises a counter of the rate, after all of them are done."""
    xs, w, count = parts(towers), variable("w", [3, 2]), variable("count", [], False, 0.0)
    losses = in_towers(towers, lambda tower: tf.reduce_mean(results(xs[tower]) ** 2))
    mean = tf.add_n([tf.gradients(one, [w])[0] for one in losses]) / towers
    rate = v1.train.exponential_decay(0.5, count, 4, 0.5)
    train = v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, w)])
    with tf.control_dependencies([train]):
        return tf.group(*in_towers(towers, lambda tower: v1.assign_add(count, 1.0)), name="all")


def test_a_counter_that_each_tower_raises_after_all_of_them_is_changed_in_turn(tmp_path):
    reason = "each tower changes net/count in turn, by which the program trains"
    assert_own_number(raised_late, reason, tmp_path)


def raised_by_own_weights(towers):
    """A program whose towers each have the weights, which the mean updates, and raise a counter of the rate then."""
    xs, count, updates = parts(towers), variable("count", [], False, 0.0), []
    own = [variable(f"w{tower}", [3, 2]) for tower in range(towers)]
    losses = in_towers(towers, lambda tower: tf.reduce_mean(tf.tanh(tf.matmul(xs[tower], own[tower])) ** 2))
    mean = tf.add_n([tf.gradients(loss, [w])[0] for loss, w in zip(losses, own)]) / towers
    optimizer = v1.train.GradientDescentOptimizer(v1.train.exponential_decay(0.5, count, 4, 0.5))
    for w in own:
        updates.append(optimizer.apply_gradients([(mean, w)], count))
    return tf.group(*updates, name="train")


def test_a_counter_that_is_raised_after_each_towers_own_weights_is_changed_in_turn(tmp_path):
    plan = setup_of(lift_of(raised_by_own_weights, 2, tmp_path / "few")).job.workload.plan
    assert plan.own_number == "each tower changes net/count in turn, by which the program trains"


def test_an_average_that_nothing_reads_is_named(tmp_path):
    assert_as_built(averaged(lambda tower: True), tmp_path, left_out=["net/mean"])
    plan = setup_of(str(tmp_path / "few" / "lifted")).job.workload.plan
    assert plan.changed_beside == ["net/mean"]
    page = inspect_graph(str(tmp_path / "few" / "graph.meta"))
    told = "each tower changes net/mean in turn; replicas of another number than 2"
    assert any(row["what"].startswith(told) for row in page["watch"])


@pytest.mark.parametrize("tower", [0, 1])
def test_an_average_of_one_tower_is_none(tower, tmp_path):
    plan = setup_of(lift_of(averaged(lambda own: own == tower), 2, tmp_path / "few")).job.workload.plan
    assert plan.changed_beside == [] and plan.own_number == ""


def test_a_vector_that_all_towers_set_to_the_same(tmp_path):
    """The power iteration of spectral normalization reads the weight alone."""

    def build(towers):
        xs, w, u = parts(towers), variable("w", [3, 2]), variable("u", [1, 2], False)

        def loss(tower):
            v = tf.nn.l2_normalize(tf.matmul(u, w, transpose_b=True))
            new = tf.nn.l2_normalize(tf.matmul(v, w))
            with tf.control_dependencies([v1.assign(u, new)]):
                normalized = w / tf.reduce_sum(tf.matmul(v, w) * new)
            return tf.reduce_mean(tf.tanh(tf.matmul(xs[tower], normalized)) ** 2)

        return trained(in_towers(towers, loss))

    assert_as_built(build, tmp_path)


@pytest.mark.parametrize("op, data, alike", [("Assign", [], True), ("Assign", ["g0"], False), ("AssignAdd", [], False)])
def test_changes_are_alike_where_they_set_what_no_data_enter(op, data, alike):
    plan = small_plan()
    plan.phases[0].effects += [Effect(f"set{n}", op, ["u"], [f"g{n}:0"]) for n in range(2)]
    assert is_set_alike(plan, "u", data) == alike


def test_a_variable_that_each_tower_changes_is_found():
    plan, graph = small_plan(), small_graph().graph_def
    for number in range(2):
        graph.node.add(name=f"move{number}", op="Identity", input=[f"g{number}:0"])
        plan.phases[0].effects.append(Effect(f"move{number}", "AssignSub", ["mean"], [f"g{number}:0"]))
    plan.variables.append(Variable("mean", "float32", [2], "statistic"))
    assert changed_by_several(plan, Graph(graph)) == ["mean"]
