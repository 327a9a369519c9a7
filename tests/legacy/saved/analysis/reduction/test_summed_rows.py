"""Rows of a gradient that are added up for each index by the program, before they are made dense."""

import tensorflow as tf

from legacy.saved.analysis.reduction.summed_rows import with_rows_added_once
from tests.legacy.saved.graphs import graph_of
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, plain, towers
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1
WORDS, SIZE, ROWS, LENGTH = 5, 3, 4, 6


def added_up(rows, indices):
    """The rows of each index added up, and the distinct indices."""
    distinct, places = tf.unique(indices)
    return tf.math.unsorted_segment_sum(rows, places, tf.shape(distinct)[0]), distinct


def momentum_by_hand():
    """Towers that look words up; an average of rows as ELMo's and BERT's authors have it, and an optimizer by hand."""
    words = v1.placeholder(tf.int32, [TOWERS * ROWS, LENGTH], "words")
    targets = v1.placeholder(tf.float32, [TOWERS * ROWS, SIZE], "targets")
    of_words, of_targets = tf.split(words, TOWERS), tf.split(targets, TOWERS)

    def table():
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            make = v1.random_uniform_initializer(-1.0, 1.0, seed=1)
            return v1.get_variable("table", [WORDS, SIZE], initializer=make, use_resource=False)

    def gradient(tower):
        made = tf.tanh(tf.reduce_sum(tf.gather(table(), of_words[tower]), 1))
        return tf.gradients(tf.reduce_mean(tf.square(made - of_targets[tower])), table())[0]

    found = towers(gradient)
    rows = tf.concat([one.values for one in found], 0) / TOWERS
    rows, indices = added_up(rows, tf.concat([one.indices for one in found], 0))
    dense = tf.convert_to_tensor(tf.IndexedSlices(rows, indices, tf.constant([WORDS, SIZE])))
    moment = plain("net/table/moment", [WORDS, SIZE])
    new = 0.5 * moment + dense
    return tf.group(v1.assign(table(), table() - 0.125 * new), v1.assign(moment, new))


def test_such_rows_are_those_of_all_towers_and_so_run_on_any_number_of_replicas(tmp_path):
    setup = lifted(momentum_by_hand, tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert [(one.weight, one.kind) for one in phase.combine] == [
        ("net/table", "concat"),
        ("net/table (indices)", "concat"),
    ]
    assert_same(setup)
    source = source_of(setup, "workload")
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_rows_that_are_taken_at_other_places_stay():
    graph = graph_of("""
        rows = ConcatV2()
        indices = ConcatV2()
        others = ConcatV2()
        size = Const()
        distinct = Unique(indices)
        of_others = Unique(others)
        summed = UnsortedSegmentSum(rows, distinct:1, size)
        dense = UnsortedSegmentSum(summed, distinct, size)
        by_others = UnsortedSegmentSum(summed, of_others, size)
        by_places = UnsortedSegmentSum(summed, distinct:1, size)
        plain = UnsortedSegmentSum(rows, indices, size)
        """)
    found = with_rows_added_once(graph)
    assert found.inputs("dense")[:2] == [TensorId("rows", 0), TensorId("indices", 0)]
    for name in ("by_others", "by_places", "plain", "summed"):
        assert found.inputs(name) == graph.inputs(name)
    assert with_rows_added_once(graph_of("x = ConcatV2()\nplain = UnsortedSegmentSum(x, x, x)")) is not found
