"""Gradients that runs add up for another run's update: reset or not, added or assigned."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.accumulators import kept_gradients, sums_set_back_too_early
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(adds, resets, divides=True, runs=1.0):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        (v1.assign_add if adds else v1.assign)(total, gradient if runs == 1 else gradient / runs, name="keep")
        mean = total / 4.0 if divides else tf.identity(total)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")
        if resets:
            v1.assign(total, tf.zeros([4, 1]), name="reset")

    return [hazard.id for hazard in kept_gradients(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "adds, resets, ids",
    [
        (True, True, []),
        (True, False, ["ACCUMULATOR_NEVER_RESET"]),
        (False, True, ["ACCUMULATOR_OVERWRITTEN"]),
        (False, False, ["ACCUMULATOR_OVERWRITTEN"]),
    ],
)
def test_sums_without_a_reset_and_overwritten_gradients_are_named(adds, resets, ids):
    assert found(adds, resets) == ids


def test_rows_that_are_added_are_no_overwritten_gradients():
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        rows = tf.gradients(tf.reduce_mean(tf.square(tf.gather(w, v1.placeholder(tf.int32, [2], "ids")))), [w])[0]
        v1.scatter_add(total, rows.indices, rows.values, name="keep")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total / 4.0, w)], name="train")
        v1.assign(total, tf.zeros([4, 1]), name="reset")

    assert not list(kept_gradients(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def test_gradients_of_the_run_before_are_not_accused():
    assert found(adds=False, resets=False, divides=False) == []


@pytest.mark.parametrize("adds, runs, count", [(False, 4.0, 1), (True, 4.0, 0), (False, 1.0, 0), (False, 0.5, 0)])
def test_gradients_that_each_run_divides_and_assigns_are_named(adds, runs, count):
    assert found(adds, resets=True, divides=False, runs=runs) == ["ACCUMULATOR_OVERWRITTEN"] * count


def resets(make_train, use_resource=False, divisor=4.0):
    """The hazards of a sum of gradients; `make_train` gets functions that update, by it or a part of it, and reset."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=use_resource, trainable=False)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        tf.group(v1.assign_add(total, gradient), name="keep")
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        mean = lambda: total.read_value() / divisor if divisor else total  # noqa: E731
        update = lambda: optimizer.apply_gradients([(mean(), w)])  # noqa: E731
        reset = lambda: total.assign(tf.zeros([4, 1]), name="reset", read_value=False)  # noqa: E731
        tf.group(*make_train(update, reset), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["keep", "train"])
    return list(sums_set_back_too_early(WholeGraph(graph, analysis), analysis))


def in_order(first, second):
    done = first()
    with tf.control_dependencies([done]):
        return [done, second()]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_reset_in_no_order_with_the_update_is_named(use_resource):
    (hazard,) = resets(lambda update, reset: [update(), reset()], use_resource)
    assert hazard.id == "ACCUMULATOR_RESET_EARLY" and "in no order with that" in hazard.description


def test_a_sum_that_the_update_itself_reads_is_in_no_order_with_its_reset_unless_that_waits():
    (hazard,) = resets(lambda update, reset: [update(), reset()], divisor=None)
    assert "in no order with that" in hazard.description
    assert not resets(in_order, divisor=None)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_reset_before_the_update_is_named(use_resource):
    (hazard,) = resets(lambda update, reset: in_order(reset, update), use_resource)
    assert "back before that" in hazard.description and "the update takes zeros" in hazard.description


def test_a_reset_behind_the_update_or_in_a_run_of_its_own_is_not():
    assert not resets(in_order)
    assert not resets(lambda update, reset: [(update(), reset())[0]])


@pytest.mark.parametrize(
    "runs, ids",
    [(["keep", "keep", "train"], ["ACCUMULATOR_NEVER_RESET"]), (["keep", "keep", "train", "reset"], [])],
)
def test_a_reset_that_no_run_of_the_period_runs_is_named(runs, ids):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        tf.group(v1.assign_add(total, gradient), name="keep")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total / 2.0, w)], name="train")
        tf.group(v1.assign(total, tf.zeros([4, 1])), name="reset")

    graph = saved(traced(build), trainable_variables=["w"])
    found = kept_gradients(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", runs)))
    assert [hazard.id for hazard in found] == ids


@pytest.mark.parametrize("scope", ["sums", "gradients"])
@pytest.mark.parametrize("has_reset", [False, True])
@pytest.mark.parametrize("last, ids", [([], ["ACCUMULATOR_NEVER_RESET"]), (["sums_anew"], [])])
def test_the_run_of_a_sums_initializer_sets_it_back(scope, has_reset, last, ids):
    """As `tf.initialize_variables(sums)`; the sums may be named like the nodes of a gradient graph."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        with v1.variable_scope(scope):
            total = v1.get_variable("w", [4, 1], use_resource=False, trainable=False, initializer=tf.zeros)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w))
        with tf.name_scope("train"):
            (gradient,) = tf.gradients(loss, [w])
            mean = tf.divide(total, 2.0, name=total.op.name)
        tf.group(v1.assign_add(total, gradient), name="keep")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="apply")
        v1.variables_initializer([total], name="sums_anew")
        if has_reset:
            v1.assign(total, tf.zeros([4, 1]), name="reset")

    graph = saved(traced(build), trainable_variables=["w"])
    found = kept_gradients(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["keep", "keep", "apply", *last])))
    assert [hazard.id for hazard in found] == ids


@pytest.mark.parametrize("runs, ids", [(["train"], ["ACCUMULATOR_NEVER_RESET"]), (["begin", "train"], [])])
def test_a_sum_that_only_another_run_begins_is_named(runs, ids):
    """The first run of a period sets the sum to its own gradients, and the last one adds its own and applies it."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        tf.group(v1.assign(total, gradient), name="begin")
        with tf.control_dependencies([v1.assign_add(total, gradient)]):
            v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = list(kept_gradients(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", runs))))
    assert [hazard.id for hazard in found] == ids
    assert all("such as Assign, and no run" in hazard.description for hazard in found)


@pytest.mark.parametrize(
    "runs, ids",
    [
        (["keep_a", "keep_a", "train", "reset"], ["ACCUMULATOR_NEVER_FILLED"]),
        (["keep_a+keep_b", "keep_a+keep_b", "train", "reset"], []),
        (["keep_a", "keep_a", "train_a", "reset"], []),  # the other weights are not trained in this period
    ],
)
def test_a_sum_that_no_run_of_the_period_adds_to_is_named(runs, ids):
    def build():
        a, b = (v1.get_variable(name, [4, 1], use_resource=False) for name in "ab")
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ (a + b)))
        zero, train = [], {}
        for w, name in ((a, "a"), (b, "b")):
            total = v1.get_variable(f"total_{name}", [4, 1], use_resource=False, trainable=False)
            tf.group(v1.assign_add(total, tf.gradients(loss, [w])[0] / 2.0), name=f"keep_{name}")
            optimizer = v1.train.GradientDescentOptimizer(0.5)
            train[name] = optimizer.apply_gradients([(total.value(), w)], name=f"train_{name}")
            zero.append(v1.assign(total, tf.zeros([4, 1])))
        tf.group(*train.values(), name="train")
        tf.group(*zero, name="reset")

    graph = saved(traced(build), trainable_variables=["a", "b"])
    hazards = list(kept_gradients(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", runs))))
    assert [hazard.id for hazard in hazards] == ids
    assert all(
        "(total_b)" in hazard.description and "update of b takes zeros" in hazard.description for hazard in hazards
    )
