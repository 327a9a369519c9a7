"""Losses and statistics that single nodes tell, where a graph cannot be analysed."""

import tensorflow as tf

from legacy.saved.report.single_nodes import loss_rows, statistic_rows
from tests.legacy.saved.report.single_graphs import descent, whole_of

v1 = tf.compat.v1


def statistic(name, shape, value=0.0):
    initializer = v1.constant_initializer(value)
    return v1.get_variable(name, shape, initializer=initializer, trainable=False, use_resource=False)


def test_a_loss_of_all_towers_and_its_terms():
    rows = [(row["term"], row["is"]) for row in loss_rows(whole_of(descent(), penalty=True))]
    assert rows == [
        ("total", "differentiated, made in no tower"),
        ("tower_0/error", "a term of total; it depends on data"),
        ("tower_0/decay", "a term of total; it depends on weights only"),
        ("tower_1/error", "a term of total; it depends on data"),
        ("tower_1/decay", "a term of total; it depends on weights only"),
    ]


def test_losses_of_the_towers_have_the_terms_of_the_first():
    rows = loss_rows(whole_of(descent(), joined=False))
    assert [(row["term"], row["is"]) for row in rows] == [
        ("tower_0/error", "differentiated, made in tower 0; it depends on data"),
        ("tower_1/error", "differentiated, made in tower 1"),
    ]


def test_statistics_and_averages_with_their_decays():
    def beside(hidden):
        mean, average, last = statistic("mean", [3]), statistic("average", [3, 3]), statistic("last", [3])
        w = v1.get_variable("w", [3, 3], use_resource=False)
        means = [tf.reduce_mean(one, 0) for one in hidden]
        return [
            v1.assign_sub(mean, (mean - (means[0] + means[1]) / 2.0) * 0.1),
            v1.assign(average, 0.75 * average + 0.25 * w),
            v1.assign(last, means[1]),
        ]

    assert statistic_rows(whole_of(descent(), beside=beside)) == [
        {"variable": "mean", "follows": "data of tower 0, tower 1", "decay": "0.9", "op": "AssignSub"},
        {"variable": "average", "follows": "w", "decay": "0.75", "op": "Assign"},
        {"variable": "last", "follows": "data of tower 1", "decay": "-", "op": "Assign"},
    ]


def test_counters_slots_sums_of_gradients_and_what_no_step_runs_are_no_statistics():
    def update(pairs):
        kept = statistic("kept", [3, 3])
        v1.assign(statistic("seen", [4, 3]), v1.get_default_graph().get_tensor_by_name("x:0"))
        added = v1.assign_add(kept, pairs[0][0])
        step = v1.train.get_or_create_global_step()
        optimizer = v1.train.MomentumOptimizer(0.5, 0.5)
        return tf.group(optimizer.apply_gradients([(added, pairs[0][1])], global_step=step))

    assert not statistic_rows(whole_of(update))
