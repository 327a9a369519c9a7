"""Decays of moving averages are found by evaluating their updates."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.decays import not_constant, taken_beside
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.graph.imported import ImportedGraph
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.plan import Effect

v1 = tf.compat.v1


def decays(make_update, producer=None):
    """The decay of the update of "moving", or of an average of w, that a small program makes.

    Args:
      make_update: function from w, the step, "moving" and its batch mean to an op.
      producer: version of the graph's format, if it is not today's.
    """

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        step = v1.train.get_or_create_global_step()
        moving = v1.get_variable("moving", initializer=[0.0, 0.0], use_resource=False, trainable=False)
        x = v1.placeholder(tf.float32, [4, 2], "x")
        train = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(x * w), step)
        tf.group(train, make_update(w, step, moving, tf.reduce_mean(x, 0)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    if producer is not None:
        graph.graph.graph_def.versions.producer = producer
    facts = program_facts(graph, analyse_graph(graph, "small", ["train"]))
    return {row["variable"]: row["decay"] for row in facts["statistics"] + facts["moving averages"]}


def by_schedule(moving, mean, examples):
    """Moves a statistic by a decay that grows with the number of examples that the program has seen."""
    decay = tf.minimum(0.96875, 1.0 - v1.train.exponential_decay(0.5, examples, 80, 0.5, staircase=True))
    return v1.assign(moving, moving * decay + mean * (1 - decay))


def growing(m, w, share):
    return v1.assign(m, share * m + (1.0 - share) * w)


@pytest.mark.parametrize(
    "make_update, name, text",
    [
        (lambda w, step, m, x: v1.assign_sub(m, (m - x) * 0.25), "moving", "0.75"),
        (lambda w, step, m, x: v1.assign(m, 0.9 * m + 0.1 * x), "moving", "0.9"),
        (lambda w, step, m, x: v1.assign_add(m, 0.25 * (x - m)), "moving", "0.75"),
        (lambda w, step, m, x: v1.assign(m, x), "moving", "-"),
        (lambda w, step, m, x: v1.scatter_sub(m, [0, 1], (m - x) * 0.25), "moving", "-"),  # rows
        (lambda w, step, m, x: v1.assign(m, tf.reshape(0.9 * m, tf.cast([step + 2], tf.int32))), "moving", "-"),
        (lambda w, step, m, x: v1.assign_add(m, x), "moving", "-"),
        (lambda w, step, m, x: v1.assign(m, v1.nn.l2_normalize(m, 0)), "moving", "-"),  # of two ones: 0.707 each
        (
            lambda w, step, m, x: v1.train.ExponentialMovingAverage(0.5).apply([w]),
            "w/ExponentialMovingAverage",
            "0.5",
        ),
        (
            lambda w, step, m, x: v1.train.ExponentialMovingAverage(0.75, step).apply([w]),
            "w/ExponentialMovingAverage",
            "0.1 at step 0, later 0.75",
        ),
        (  # the first step sets the average to the weight
            lambda w, step, m, x: growing(m, w, tf.minimum(1.0 - 1.0 / (tf.cast(step, tf.float32) + 1.0), 0.75)),
            "moving",
            "0 at step 0, later 0.75",
        ),
        (lambda w, step, m, x: growing(m, w, tf.zeros([])), "moving", "-"),
        (  # the count of examples overflows at late steps
            lambda w, step, m, x: by_schedule(m, x, tf.cast(step, tf.int32) * 8),
            "moving",
            "0.5 at step 0, later 0.96875",
        ),
    ],
)
def test_decays(make_update, name, text):
    assert decays(make_update)[name] == text


def test_a_step_counter_of_a_graph_of_tensorflow_0_counts_too():
    """Up to version 21 of the format, a placeholder that stands for a scalar has no known rank."""
    apply = lambda w, step, m, x: v1.train.ExponentialMovingAverage(0.75, step).apply([w])  # noqa: E731
    assert decays(apply, producer=21)["w/ExponentialMovingAverage"] == "0.1 at step 0, later 0.75"


def test_a_counter_that_is_read_after_it_rose_counts_as_raised():
    """(1 + n) / (10 + n) behind the update that raises n: the first step has n = 1."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        step = v1.train.get_or_create_global_step()
        x = v1.placeholder(tf.float32, [4, 2], "x")
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(x * w), step)
        with tf.control_dependencies([update]):
            tf.group(v1.train.ExponentialMovingAverage(0.75, step).apply([w]), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    facts = program_facts(graph, analyse_graph(graph, "small", ["train"]))
    assert [row["decay"] for row in facts["moving averages"]] == ["0.181818 at step 0, later 0.75"]


@pytest.mark.parametrize("kind", [tf.float32, tf.int64])
def test_the_average_of_a_scalar_weight_is_of_no_counter(kind):
    """A weight of ten million has too few digits for a decay; a float that counts steps is a counter all the same."""

    def build():
        w = v1.get_variable("w", initializer=1.0, use_resource=False)
        step = v1.get_variable("step", [], kind, v1.zeros_initializer(), trainable=False, use_resource=False)
        x = v1.placeholder(tf.float32, [4], "x")
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(x * w), step)
        tf.group(update, v1.train.ExponentialMovingAverage(0.999, step).apply([w]), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    facts = program_facts(graph, analyse_graph(graph, "small", ["train"]))
    assert [row["decay"] for row in facts["moving averages"]] == ["0.1 at step 0, later 0.999"]


@pytest.mark.parametrize("source, names", [("Const", []), ("Placeholder", ["axes:0"]), ("VariableV2", ["axes:0"])])
def test_what_follows_from_constants_alone_keeps_its_value(source, names):
    """As the axes of the moments of a layer that no loss uses; as zeros they would make another divisor."""
    graph = graph_of(f"a = {source}()\nb = Const()\naxes = Pack(a, b)\nrank = Const()")
    assert not_constant(graph, ["axes:0", "rank:0"]) == names


def test_arrays_beside_a_variable_are_taken_and_numbers_are_not():
    def build():
        moving = v1.get_variable("moving", initializer=[0.0, 0.0], use_resource=False, trainable=False)
        x, share = v1.placeholder(tf.float32, [4, 2], "x"), v1.placeholder(tf.float32, [], "share")
        v1.assign_sub(moving, (moving - tf.reduce_mean(tf.tanh(x), 0, name="mean")) * share, name="update")

    graph = traced(build)
    effect = Effect("update", "AssignSub", ["moving"], ["mul:0"], None)
    assert taken_beside(graph, ImportedGraph(graph), [effect]) == {"mean:0"}
