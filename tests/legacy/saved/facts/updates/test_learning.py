"""How small programs learn: losses, combining, update rules, learning rates."""

import types

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts import losses
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.sums import sum_text
from legacy.saved.facts.combining.words import combination_text
from legacy.saved.facts.losses import loss_rows
from legacy.saved.facts.updates.learning_rates import find_learning_rates
from legacy.saved.facts.updates.update_rules import update_rule_rows
from legacy.saved.facts.watch import sentences
from legacy.saved.facts.whole_facts import whole_facts
from tests.legacy.saved.facts.one_loss import minimized
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.programs import saved_penalty_beside_towers, saved_two_towers

v1 = tf.compat.v1


def analysed(
    make_rate=lambda step: 0.5, momentum=lambda: 0.75, clip=None, nesterov=False, penalty=False, by_hand=False
):
    """The analysed step of one tower that minimizes sum(x * w) with a momentum optimizer."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        step = v1.get_variable("global_step", initializer=0, use_resource=False, trainable=False)
        x = v1.placeholder(tf.float32, [2], "x")
        loss = tf.reduce_sum(tf.multiply(x, w), name="data")
        loss = tf.divide(loss + tf.nn.l2_loss(w, name="l2"), 1.0, name="loss") if penalty else loss
        (gradient,) = tf.gradients(loss, [w])
        gradient = clip(gradient) if clip else gradient
        if by_hand:
            update = v1.assign_sub(w, 0.5 * gradient)
        else:
            optimizer = v1.train.MomentumOptimizer(make_rate(step), momentum(), use_nesterov=nesterov)
            update = optimizer.apply_gradients([(gradient, w)])
        tf.group(update, v1.assign_add(step, 1), name="train")

    return AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))


def test_a_loss_and_its_terms():
    assert [(row["term"], row["is"]) for row in loss_rows(analysed(penalty=True))] == [
        ("loss:0", "the loss of the first tower"),
        ("data", "depends on data"),
        ("l2", "depends on weights only: a regularizer"),
    ]


@pytest.mark.parametrize(
    "total, terms",
    [
        (lambda one, other: one - 0.5 * other, ["one", "mul_2"]),
        (lambda one, other: -(one + other), ["one", "other"]),
        (lambda one, other: -one, ["Neg"]),
    ],
)
def test_a_difference_has_the_terms_of_both_sides(total, terms):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        one, other = tf.reduce_sum(x * w, name="one"), tf.reduce_mean(tf.square(x * w), name="other")
        v1.train.GradientDescentOptimizer(0.5).minimize(total(one, other), name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [row["term"] for row in loss_rows(step)][1:] == terms


def test_a_penalty_of_weights_that_a_var_list_leaves_out_is_no_regularizer():
    def build():
        w, kept = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in ("w", "kept"))
        data = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w * kept)
        loss = tf.add_n([data, tf.nn.l2_loss(w, name="own"), tf.nn.l2_loss(kept, name="other")])
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w", "kept"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["own"] == "depends on weights only: a regularizer"
    assert rows["other"] == "depends on variables that the step does not change"


@pytest.mark.parametrize(
    "weigh, first, kind, second",
    [
        (
            lambda first, second: tf.reduce_sum([*first, *second]) / 8.0,
            "0.125",
            "loss",
            "0.125",
        ),
        (
            lambda first, second: (tf.add_n(first) + tf.add_n(second)) / 2.0,
            "0.5",
            "loss",
            "0.5",
        ),
        (
            lambda first, second: tf.add_n(first) / 2.0 + tf.add_n(second) / 2.0,
            "0.5",
            "loss",
            "0.5",
        ),
        (
            lambda first, second: tf.add_n(first) / 2.0 + tf.add_n(second) * 0.05,
            "0.5",
            "loss",
            "0.05",
        ),
        (
            lambda first, second: tf.add_n([*first, second[0]]) / 2.0,  # the second tower has no such term
            "0.5",
            "term",
            "0.5",
        ),
    ],
)
def test_the_page_has_all_losses_that_a_tower_adds_to_one_of_all_towers(weigh, first, kind, second):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        losses = ([], [])
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses[0].append(tf.nn.l2_loss(x * w, name="first"))
                losses[1].append(tf.nn.l2_loss(x + w, name="second"))
        whole = tf.identity(weigh(*losses), name="whole")
        v1.train.GradientDescentOptimizer(0.5).minimize(whole, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["tower_0/first:0"] == f"the loss of the first tower, counted {first} times"
    assert rows["tower_0/second:0"] == f"another {kind} of the first tower, counted {second} times"


def scale():
    """A loss scale that steps change."""
    return v1.get_variable("scale", initializer=1024.0, trainable=False, use_resource=False)


@pytest.mark.parametrize(
    "total, ending",
    [
        (lambda losses: tf.sqrt(tf.add_n(losses) / 2.0), ", of which a function that is no sum is minimized"),
        (lambda losses: losses[0] * losses[1], ", of which a function that is no sum is minimized"),
        (lambda losses: tf.reduce_mean(tf.stack(losses)) / 3.0, ", counted 0.166667 times"),
        (lambda losses: tf.add_n(losses) * scale(), ", times a number that the graph computes"),
    ],
)
def test_the_losses_of_which_a_root_is_minimized_count_no_number_of_times(total, ending):
    rows = {row["term"]: row["is"] for row in loss_rows(minimized(total, tf.reduce_sum))}
    assert rows["tower_0/loss:0"] == "the loss of the first tower" + ending


@pytest.mark.parametrize(
    "total, kind, sentence",
    [
        (
            lambda losses: tf.reduce_mean(tf.boolean_mask(losses, ~tf.math.is_nan(losses))),
            "sum of a function of all towers' losses that is no sum",
            "train: a function of all towers' losses that is no sum is minimized: how much each counts depends on what "
            "they are",
        ),
        (
            lambda losses: tf.reduce_mean(tf.stack(losses)),
            "sum of losses that are divided by the towers: a mean",
            "train: each tower's loss counts 1/2: its sum over towers is a mean",
        ),
    ],
)
def test_a_mean_of_the_losses_that_are_numbers_is_no_mean_of_all(total, kind, sentence):
    step = minimized(total)
    (phase,) = step.phases
    assert [combination_text(step, phase, combine) for combine in phase.combine] == [kind]
    assert [text for text in sentences(step, [], []) if "loss" in text] == [sentence]


@pytest.mark.parametrize("around", [lambda x: tf.expand_dims(x, 0), lambda x: tf.reshape(x, [1]), lambda x: 0.5 * x])
def test_the_terms_of_a_reshaped_or_scaled_sum(around):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        data = tf.reduce_sum(tf.multiply(v1.placeholder(tf.float32, [2], "x"), w), name="data")
        loss = tf.identity(around(data + tf.multiply(0.25, tf.nn.l2_loss(w), name="decay")), name="loss")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["data"] == "depends on data" and rows["decay"] == "depends on weights only: a regularizer"
    assert not any("its sum" in note for note in found.plan.notes)


def test_a_product_of_two_results_is_one_term():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        data = tf.reduce_sum(tf.multiply(v1.placeholder(tf.float32, [2], "x"), w), name="data")
        loss = tf.multiply(data, tf.nn.l2_loss(w, name="l2"), name="loss")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    rows = loss_rows(AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])))
    assert [row["term"] for row in rows][1:] == ["loss"]


def test_combining_of_two_towers():
    (row,) = combining_rows(AnalysedStep(analyse_graph(saved_two_towers(), "small")))
    assert row == {
        "train op": "train",
        "gradients": "1",
        "are": "mean",
        "by": "AddN, RealDiv",
        "clipped": "no",
        "of": "w",
    }


def test_clipping_is_read_from_name_scopes():
    (row,) = combining_rows(analysed(clip=lambda g: tf.clip_by_norm(g, 3.0)))
    assert row["clipped"] == "after combining, by norm, at 3"
    (row,) = combining_rows(analysed(clip=lambda g: tf.reduce_mean(tf.stack([tf.clip_by_norm(g, 3.0)]), 0)))
    assert row["clipped"] == "in each tower, by norm, at 3"  # code for several towers, run with one


@pytest.mark.parametrize("nesterov, ending", [(False, "momentum=0.75"), (True, "momentum=0.75, nesterov")])
def test_update_rules_with_their_constants(nesterov, ending):
    (row,) = update_rule_rows(analysed(nesterov=nesterov))
    assert (row["rule"], row["variables"]) == ("Momentum", "1")
    assert row["constants"] == "lr=0.5, " + ending


@pytest.mark.parametrize(
    "nesterov, constants", [(False, "lr=0.5, momentum=0.75"), (True, "lr=0.5, momentum=0.75, nesterov")]
)
def test_update_rules_with_their_constants_without_an_analysis(nesterov, constants):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.MomentumOptimizer(0.5, 0.75, use_nesterov=nesterov).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    (row,) = whole_facts(graph, WholeGraph(graph))["optimizers"]
    assert (row["rule"], row["constants"]) == ("Momentum", constants)


def test_a_constant_that_a_variable_holds_is_named():
    held = analysed(momentum=lambda: v1.get_variable("slowness", initializer=0.5, use_resource=False))
    assert [row["constants"] for row in update_rule_rows(held)] == ["lr=0.5, momentum in slowness (0.5 at first)"]


def test_rows_are_clipped_and_their_indices_are_not():
    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                rows += tf.gradients(tf.reduce_sum(tf.gather(table, words) ** 2), [table])
        values, words = tf.concat([one.values for one in rows], 0), tf.concat([one.indices for one in rows], 0)
        [clipped], _ = tf.clip_by_global_norm([tf.IndexedSlices(values, words, rows[0].dense_shape)], 3.0)
        v1.train.AdagradOptimizer(0.5).apply_gradients([(clipped, table)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"])
    clipped = {row["of"]: row["clipped"] for row in combining_rows(AnalysedStep(found))}
    assert clipped == {
        "table": "after combining, by the norm of each alone (a global norm of one), at 3",
        "table (indices)": "no",
    }


@pytest.mark.parametrize("bound", [5.0, None])
def test_rows_that_decay_besides_are_clipped_as_their_update_takes_them(bound):
    """As by AdamW of tf.contrib: the decay, which comes first, takes the rows' indices alone."""

    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                rows += tf.gradients(tf.reduce_sum(tf.gather(table, words) ** 2), [table])
        words = tf.concat([one.indices for one in rows], 0)
        values = tf.concat([one.values for one in rows], 0)
        values = tf.clip_by_norm(values, bound) if bound else values
        decay = v1.scatter_add(table, words, -0.125 * tf.gather(table, words))
        with tf.control_dependencies([decay]):
            gradient = tf.IndexedSlices(values, tf.identity(words), rows[0].dense_shape)
            v1.train.AdamOptimizer(0.5).apply_gradients([(gradient, table)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"])
    clipped = {row["of"]: row["clipped"] for row in combining_rows(AnalysedStep(found)) if row["of"] == "table"}
    assert clipped == ({"table": "after combining, by norm, at 5"} if bound else {})


@pytest.mark.parametrize("is_adam, rule", [(True, "Adam, of rows (AssignSub)"), (False, "written by hand (AssignSub)")])
def test_adam_of_rows_is_no_optimizer_of_ones_own(is_adam, rule):
    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                rows += tf.gradients(tf.reduce_sum(tf.gather(table, words) ** 2), [table])
        values, words = tf.concat([one.values for one in rows], 0), tf.concat([one.indices for one in rows], 0)
        gradient = tf.IndexedSlices(values, words, rows[0].dense_shape)
        if is_adam:  # which takes a square root; its rate has a bound, as after a warm-up
            rate = tf.minimum(v1.get_variable("turns", initializer=1.0, trainable=False, use_resource=False), 0.5)
            v1.train.AdamOptimizer(rate).apply_gradients([(gradient, table)], name="train")
        else:
            v1.assign_sub(table, 0.5 * tf.convert_to_tensor(gradient), name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"])
    assert [row["rule"] for row in update_rule_rows(AnalysedStep(found))] == [rule]
    (learning_rate,) = find_learning_rates(AnalysedStep(found))  # without Adam's correction of the moments
    assert learning_rate.text.startswith("a function of turns, by Minimum" if is_adam else "0.5, always")
    assert {row["clipped"] for row in combining_rows(AnalysedStep(found))} == {"no"}


def test_rows_that_an_optimizer_subtracts_are_gradient_descent():
    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        loss = tf.reduce_sum(tf.gather(table, v1.placeholder(tf.int32, [2], "words")) ** 2)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"])
    (row,) = update_rule_rows(AnalysedStep(found))
    assert (row["rule"], row["constants"]) == ("GradientDescent, row by row (ScatterSub)", "-")


@pytest.mark.parametrize("rate", [0.5, 1.0, None])
@pytest.mark.parametrize("averaged", [True, False])
def test_the_learning_rate_of_rows_that_an_optimizer_subtracts(rate, averaged):
    """The combined rows times a constant rate are scaled by what is left without it."""

    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                rows += tf.gradients(tf.reduce_sum(tf.gather(table, words) ** 2), [table])
        values = tf.concat([one.values / (2.0 if averaged else 1.0) for one in rows], 0)
        gradient = tf.IndexedSlices(values, tf.concat([one.indices for one in rows], 0), rows[0].dense_shape)
        fed = v1.placeholder(tf.float32, [], "rate") if rate is None else rate
        v1.train.GradientDescentOptimizer(fed).apply_gradients([(gradient, table)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"]))
    assert [found.text for found in find_learning_rates(step)] == [f"{rate:g}, always" if rate else "fed at every step"]
    (text,) = {row["are"] for row in combining_rows(step) if "(indices)" not in row["of"]}
    assert text == ("concat, scaled by 0.5: a mean" if averaged else "concat")


def test_an_optimizer_written_by_hand():
    (row,) = update_rule_rows(analysed(by_hand=True))
    assert (row["rule"], row["constants"]) == ("written by hand (AssignSub)", "0.5")


@pytest.mark.parametrize(
    "make_rate, text, values",
    [
        (lambda step: 0.5, "0.5, always", "-"),
        (lambda step: v1.placeholder(tf.float32, [], "rate"), "fed at every step", "-"),
        (lambda step: v1.placeholder_with_default(0.5, [], "rate"), "0.5, unless rate is fed", "-"),
        (
            lambda step: tf.cast(v1.placeholder_with_default(tf.constant(0.5, tf.float64), [], "rate"), tf.float32),
            "0.5, unless rate is fed",
            "-",
        ),
        (lambda step: tf.cast(tf.constant(0.5, tf.float64), tf.float32), "0.5, always", "-"),
        (
            lambda step: v1.placeholder(tf.float32, [], "scale") / tf.cast(step, tf.float32),
            "a function of global_step, scale (fed), by RealDiv",
            "-",
        ),
        (
            lambda step: 1.0 / (1.0 + tf.cast(step, tf.float32)),
            "a function of global_step, by AddV2, RealDiv",
            "0: 1, 100: 0.00990099, 1000: 0.000999001, 10000: 9.999e-05, 100000: 9.9999e-06",
        ),
        (  # what is zero at its first and its last step is not always zero
            lambda step: v1.maximum(0.0, tf.cast(step, tf.float32) * (10.0 - tf.cast(step, tf.float32))),
            "a function of global_step, by Maximum, Mul, Sub; constants 10, 0",
            "0: 0, 5: 25, 10: 0",
        ),
        (  # it counts examples, 8 a step, and changes every 25,000 steps
            lambda step: 0.5 ** tf.floor(tf.cast(step, tf.float32) * 8.0 / 200000.0),
            "a function of global_step, by Floor, Mul, Pow, RealDiv; constants 200000, 8, 0.5",
            "0: 1, 25000: 0.5, 100000: 0.0625, 200000: 0.00390625",
        ),
        (
            lambda step: 2.0 * v1.placeholder(tf.float32, [], "rate"),
            "a function of rate, fed at every step, by Mul; constants 2",
            "-",
        ),
        (
            lambda step: 0.5 / (1 + v1.placeholder(tf.float32, [], "epoch") // v1.placeholder(tf.float32, [], "every")),
            "a function of epoch, every, fed at every step, by AddV2, FloorDiv, RealDiv; constants 0.5",
            "-",
        ),
    ],
)
def test_learning_rates(make_rate, text, values):
    (rate,) = find_learning_rates(analysed(make_rate))
    assert (rate.text, rate.values) == (text, values)
    assert rate.row() == {"train op": rate.train_op, "tensor": rate.tensor, "is": text, "values": values}


def test_each_learning_rate_that_is_fed_is_listed():
    """Each network of a GAN may have one of its own."""

    def build():
        weights = [v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in ("w", "v")]
        x = v1.placeholder(tf.float32, [2], "x")
        gradients = tf.gradients(tf.reduce_sum(x * weights[0] * weights[1]), weights)
        rates = [v1.placeholder(tf.float32, [], name) for name in ("rate", "other_rate")]
        made = [v1.train.GradientDescentOptimizer(rate) for rate in rates]
        tf.group(*[m.apply_gradients([pair]) for m, pair in zip(made, zip(gradients, weights))], name="train")

    found = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w", "v"]), "small", ["train"]))
    assert sorted(rate.tensor for rate in find_learning_rates(found)) == ["other_rate:0", "rate:0"]


def test_a_schedule_of_another_counter_than_the_steps_says_so():
    """Such as an epoch that a run of its own raises."""

    def make_rate(step):
        epoch = v1.get_variable("epoch", initializer=0, trainable=False, use_resource=False)
        return v1.train.exponential_decay(0.5, epoch, 10, 0.5, staircase=True)

    (rate,) = find_learning_rates(analysed(make_rate))
    assert rate.values.startswith("by epoch: 0: 0.5, 10: 0.25, 100: ")


def test_the_end_of_a_schedule_is_shown_where_it_has_many_values():
    """A warm-up differs at every step that may be a boundary of one that counts examples."""

    def make_rate(step):
        warm_up = 0.1 * tf.cast(step, tf.float32) / 100.0
        later = v1.train.piecewise_constant(step, [1000, 2000], [0.1, 0.01, 0.001])
        return tf.where(step < 100, warm_up, later)

    (rate,) = find_learning_rates(analysed(make_rate))
    assert rate.values == "0: 0, 100: 0.1, 1001: 0.01, 2001: 0.001"
    (rate,) = find_learning_rates(
        analysed(lambda step: tf.cast(step, tf.float32) * 3.0 * tf.constant(17.0) * tf.constant(23.0))
    )
    assert rate.values.endswith(", ..., 100000: 1.173e+08")


def test_a_schedules_counter_and_constants_are_known():
    (rate,) = find_learning_rates(analysed(lambda step: 0.5 / (1.0 + tf.cast(step, tf.float32) * 4.0)))
    assert rate.reads == ("global_step",) and set(rate.constants) == {0.5, 4.0}
    (constant,) = find_learning_rates(analysed(lambda step: 0.5))
    assert constant.reads == () == constant.constants


def test_a_schedule_that_cannot_be_run_at_every_step_has_no_values():
    table = [0.5] * 100_002
    assert find_learning_rates(analysed(lambda step: tf.gather(table, step)))[0].values == "0: 0.5"
    assert find_learning_rates(analysed(lambda step: tf.gather(table[:2], step)))[0].values == "-"


def test_a_schedule_of_a_counter_of_unknown_shape_has_no_values():
    def make_rate(step):
        count = v1.get_variable("count", initializer=0, validate_shape=False, trainable=False, use_resource=False)
        return 1.0 / (1.0 + tf.cast(count, tf.float32))

    (rate,) = find_learning_rates(analysed(make_rate))
    assert (rate.reads, rate.values) == (("count",), "-")


def test_one_loss_of_all_towers_is_each_towers_part_and_what_is_added_to_all():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)
        parts = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                parts.append(tf.reduce_sum(halves[tower] * w, 1, name="part"))
        with tf.device("/cpu:0"):
            loss = tf.add(tf.reduce_mean(tf.concat(parts, 0)), tf.nn.l2_loss(w, name="l2"), name="loss")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, colocate_gradients_with_ops=True, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["tower_0/part:0"] == "the first tower's part of one loss that all towers' results make"
    assert rows["l2"] == "added to all towers' losses: depends on weights only: a regularizer"


def test_a_penalty_that_is_differentiated_by_itself_is_listed():
    found = analyse_graph(saved_penalty_beside_towers(is_added_later=True), "small", ["train"])
    assert [(row["term"], row["is"]) for row in loss_rows(AnalysedStep(found))] == [
        ("tower_0/data:0", "the loss of the first tower"),
        ("tower_0/data", "depends on data"),
        ("tower_0/l2", "differentiated by itself: depends on weights only: a regularizer"),
    ]


def test_a_term_of_a_loss_that_contains_another_towers_is_not_in_all():
    """As of a collection of losses that each tower adds up, with those of the towers before it."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)
        losses, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses += [tf.nn.l2_loss(w, name="l2"), tf.reduce_mean(halves[tower] * w, name="data")]
                gradients += tf.gradients(tf.add_n(losses, name="total"), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2, w)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["tower_0/l2"] == "depends on weights only: a regularizer" and "tower_1/l2" not in rows


@pytest.mark.parametrize("is_shared, terms", [(True, ["data:0", "penalty:0"]), (False, [])])
def test_terms_of_other_weights_are_of_a_loss_of_all_towers(monkeypatch, is_shared, terms):
    """The loss of one tower, which another tower's contains, is no such sum: its terms are listed as its own."""

    def build():
        data, penalty = (v1.placeholder(tf.float32, [], name) for name in ("data", "penalty"))
        tf.add(data, penalty, name="loss")

    monkeypatch.setattr(losses, "differentiated", lambda graph, members: ["loss"])
    towers = types.SimpleNamespace(is_shared=lambda name: is_shared, masks={}, tower_of=lambda name: 0)
    step = types.SimpleNamespace(graph=traced(build), context=types.SimpleNamespace(towers=towers))
    phase = types.SimpleNamespace(train_op="loss", shared_loss=True, losses=["loss:0"], other_losses=[])
    assert [tensor for tensor, _ in losses._terms_of_other_weights(step, phase)] == terms


@pytest.mark.parametrize("shared, text", [(False, "depends on random numbers"), (True, "depends on data")])
def test_a_term_of_random_numbers_is_named_so(shared, text):
    """Numbers that are drawn once for all towers, unless they are fed, are an input of the lift, and so are data."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x, gradients = v1.placeholder(tf.float32, [4, 2], "x"), []
        z = v1.placeholder_with_default(v1.random_uniform([2]), [2], "z")
        for tower, part in enumerate(tf.split(x, 2)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                data = tf.reduce_sum(part * w, name="data")
                noise = tf.reduce_sum((z if shared else v1.random_uniform([2])) * w, name="noise")
                gradients += tf.gradients(tf.add(data, noise, name="loss"), w)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2, w)], name="train")

    rows = loss_rows(AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])))
    assert {row["term"]: row["is"] for row in rows[1:]} == {"tower_0/data": "depends on data", "tower_0/noise": text}


def accumulated(clip=lambda total: total):
    """The step of a program with two train ops: one adds gradients to a variable, the other applies them."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        total = v1.get_variable("total", initializer=[0.0, 0.0], use_resource=False, trainable=False)
        x = v1.placeholder(tf.float32, [2], "x")
        (gradient,) = tf.gradients(tf.reduce_sum(x * w, name="loss"), [w])
        v1.assign_add(total, gradient, name="add")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(clip(total), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return AnalysedStep(analyse_graph(graph, "small", ["add", "train"]))


@pytest.mark.parametrize(
    "clip, by, clipped",
    [
        (lambda g: g / 2.0, "RealDiv", "no"),
        (tf.negative, "Neg", "no"),
        (lambda g: tf.clip_by_norm(g, 3.0), None, "by norm, at 3"),
    ],
)
def test_gradients_that_other_runs_have_added_up_have_a_row(clip, by, clipped):
    (row,) = [row for row in combining_rows(accumulated(clip)) if row["train op"] == "train"]
    assert (row["are"], row["of"]) == ("as added up in other runs", "w")
    assert by in (None, row["by"]) and clipped in row["clipped"]


def weight_and_gradients(weigh, of_tower=lambda gradient: gradient, rows=4):
    """(a weight, its gradients in two towers); `weigh` makes a loss of a sum of data and the weight."""
    w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
    halves = tf.split(v1.placeholder(tf.float32, [rows, 2], "x"), 2)
    gradients = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            gradients += map(of_tower, tf.gradients(weigh(tf.reduce_sum(halves[tower] * w), w), [w]))
    return w, gradients


@pytest.mark.parametrize(
    "divided, are", [(True, "sum, scaled by 0.0625: a mean, without the losses' factor of 8"), (False, "mean")]
)
def test_a_loss_scale_that_is_divided_out_again_is_no_factor_of_the_mean(divided, are):
    def build():
        w, gradients = weight_and_gradients(lambda total, w: total * 8.0, lambda g: g / 8.0 if divided else g)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    analysed = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert combining_rows(analysed)[0]["are"] == are
    assert loss_rows(analysed)[0]["is"] == "the loss of the first tower" + ", with its factor of 8" * divided


@pytest.mark.parametrize(
    "combine, are",
    [
        (lambda a, b: tf.add_n([a, b]), "sum"),
        (lambda a, b: tf.add_n([a, b]) * 3.0, "sum, scaled by 3"),
        (tf.maximum, "kept as written"),
    ],
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_what_combining_comes_to(combine, are, by_hand):
    def build():
        w, gradients = weight_and_gradients(lambda total, w: total)
        result = combine(*gradients)
        if by_hand:
            v1.assign_sub(w, result, name="train")
        else:
            v1.train.GradientDescentOptimizer(0.5).apply_gradients([(result, w)], name="train")

    (row,) = combining_rows(
        AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    )
    is_rate = by_hand and "scaled" in are  # the constant factor of what an assignment subtracts
    assert row["are"] == ("sum" if is_rate else are)


@pytest.mark.parametrize(
    "scale, are, sentence",
    [
        (0.25, "sum, scaled by 0.25: a mean of 4 gradients, 2 of each tower", "a mean of 4 gradients, 2 of each tower"),
        (0.125, "sum, scaled by 0.125", "gradients are summed over towers, times 0.125"),
    ],
)
def test_a_mean_of_several_batches_of_each_tower(scale, are, sentence):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 2], "x"), 4)
        gradients = []
        for part, data in enumerate(parts):
            with tf.device(f"/gpu:{part % 2}"), tf.name_scope(f"tower_{part % 2}"):
                gradients += tf.gradients(tf.reduce_sum(data * w), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) * scale, w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    (row,) = combining_rows(step)
    assert row["are"] == are and sum_text(step, step.phases[0]).endswith(sentence)


@pytest.mark.parametrize(
    "with_input, text", [(True, "a regularizer"), (False, "on no input: no loss of this step has any")]
)
def test_a_loss_of_constants_is_no_regularizer(with_input, text):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        data = v1.placeholder(tf.float32, [2], "x") if with_input else tf.constant([3.0, 4.0], name="x")
        loss = tf.reduce_sum(data * w, name="data") + tf.nn.l2_loss(w, name="l2")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    rows = {row["term"]: row["is"] for row in loss_rows(AnalysedStep(found))}
    assert rows["l2"].endswith(text)


def test_one_towers_loss_is_no_part_of_a_mean():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        with tf.device("/gpu:0"), tf.name_scope("tower_0"):
            gradients = tf.gradients(tf.reduce_sum(v1.placeholder(tf.float32, [4, 2], "x") * w), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradients[0], w)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    (row,) = combining_rows(AnalysedStep(found))
    assert found.plan.towers == 1 and row["are"] == "one tower alone; in a port of several replicas: sum"


def summed(weigh, scale=None, rows=6):
    """The sentence on two towers whose gradients are summed; `weigh` makes a loss of a sum of data."""

    def build():
        w, gradients = weight_and_gradients(weigh, rows=rows)
        total = tf.add_n(gradients)
        total = total if scale is None else total * v1.get_variable("scale", initializer=scale, use_resource=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    return sum_text(AnalysedStep(found), found.plan.phases[0])


@pytest.mark.parametrize(
    "weigh, scale, text",
    [
        (lambda data, w: data, None, "gradients are summed over towers, not averaged"),
        (lambda data, w: data * 0.25, None, "gradients are summed over towers, not averaged"),
        (lambda data, w: data / 2.0 + tf.nn.l2_loss(w), None, "the sum of gradients is a mean of those"),
        (lambda data, w: data / 2.0 + data / 3.0, None, "gradients are summed over towers, not averaged"),
        (lambda data, w: data, 0.5, "the sums multiplied by numbers that the graph computes"),
    ],
)
def test_what_a_sum_of_gradients_comes_to(weigh, scale, text):
    assert summed(weigh, scale).endswith(text)


@pytest.mark.parametrize(
    "of_tower, text",
    [
        (tf.sign, "gradients are changed in their towers (Sign) before they are summed"),
        (
            lambda g: g * v1.get_variable("share", initializer=0.5, use_resource=False, trainable=False),
            "gradients are changed in their towers (Mul) before they are summed",
        ),
        (lambda g: tf.clip_by_value(g, -1.0, 1.0), "gradients are summed over towers, not averaged"),
        (tf.identity, "gradients are summed over towers, not averaged"),
    ],
)
def test_what_towers_make_of_their_gradients_before_they_are_summed(of_tower, text):
    def build():
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            w, gradients = weight_and_gradients(lambda total, w: total, of_tower)
        v1.train.MomentumOptimizer(0.5, 0.9).apply_gradients([(tf.add_n(gradients), w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert sum_text(step, step.phases[0]) == text


def test_a_sum_over_the_examples_of_a_tower_that_is_divided_by_their_number_is_no_part_of_a_mean():
    """Two towers of two examples each, whose losses are means: their gradients are summed nevertheless."""
    assert summed(lambda data, w: data / 2.0, rows=4) == "gradients are summed over towers, not averaged"
    of_all = "gradients are summed over towers, of losses that are divided by the 4 examples of all towers: a mean"
    assert summed(lambda data, w: data / 4.0, rows=4) == of_all


@pytest.mark.parametrize(
    "weigh, are",
    [
        (lambda data, w: data / 2.0, "sum of losses that are divided by the towers: a mean"),
        (lambda data, w: tf.square(data) / 2.0, "sum of losses with a factor of 0.5"),
        (lambda data, w: tf.tanh(tf.square(data)) / 2.0, "sum of losses that are divided by the towers: a mean"),
        (lambda data, w: 0.5 * data, "sum of losses with a factor of 0.5"),
    ],
)
def test_half_of_a_square_is_no_division_by_two_towers(weigh, are):
    def build():
        w, gradients = weight_and_gradients(weigh, rows=6)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    (row,) = combining_rows(
        AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "m", ["train"]))
    )
    assert row["are"] == are


ALONE = "in the loss of tower 1, and of none before it: "


@pytest.mark.parametrize(
    "penalized, count, expected",
    [
        ((1,), 1, [ALONE + "depends on weights only: a regularizer"]),
        ((1,), 3, [ALONE + "with 2 more, regularizers, which depend on weights only"]),
        ((0, 1), 1, []),
        ((0,), 1, []),
    ],
)
def test_penalties_of_a_later_tower_alone_are_listed_as_its(penalized, count, expected):
    def build():
        def weigh(data, w):
            losses.append(data)
            terms = [tf.nn.l2_loss(w, name=f"l2_{number}") for number in range(count)]
            return tf.add_n([data, *(terms if len(losses) - 1 in penalized else [])])

        losses = []
        w, gradients = weight_and_gradients(weigh)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    rows = [(row["term"], row["is"]) for row in loss_rows(step) if row["term"].startswith("tower_1")]
    assert rows == [("tower_1/l2_0", text) for text in expected]
