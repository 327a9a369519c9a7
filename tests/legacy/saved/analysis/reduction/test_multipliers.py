"""Constants that multiply the mean of two towers' gradients, and the facts and hazards of such programs."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.reduction.multipliers import constants_behind, multiplier_of_mean, with_multiples_of_means
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.sums import sum_text
from legacy.saved.hazards.combining.mixed import mixed_combining
from legacy.saved.hazards.losses.divided_sums import sums_divided_by_another_count
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.reduction_factors import rescaling

v1 = tf.compat.v1


def program(*combines, reduce=tf.reduce_sum):
    """(graph, analysis) of two towers with a weight for each function that combines its two gradients.

    Args:
      combines: functions of the two gradients and the weight.
      reduce: makes each tower's loss of its two examples.
    """

    def build():
        weights = [v1.get_variable(f"w{i}", initializer=[1.0, 2.0], use_resource=False) for i, _ in enumerate(combines)]
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.add_n([reduce(tf.sigmoid(x * w)) for w in weights]), weights))
        pairs = [(combine(*pair, w), w) for combine, w, pair in zip(combines, weights, zip(*gradients))]
        v1.train.MomentumOptimizer(0.5, 0.9).apply_gradients(pairs, name="train")

    graph = saved(traced(build), trainable_variables=[f"w{i}" for i, _ in enumerate(combines)])
    return graph, analyse_graph(graph, "small", ["train"])


def mean(first, second, weight):
    return tf.reduce_mean(tf.concat([tf.expand_dims(first, 0), tf.expand_dims(second, 0)], 0), 0)


@pytest.mark.parametrize(
    "combine, multiplier",
    [
        (lambda a, b, w: mean(a, b, w) * 10.0, 10.0),
        (lambda a, b, w: 2.0 * mean(a, b, w), 2.0),
        (lambda a, b, w: mean(a * 2.0, b * 2.0, w), 2.0),  # in each tower, whose sum has the same value
        (lambda a, b, w: mean(a * 2.0, b * 4.0, w), None),
        (lambda a, b, w: tf.add_n([a, b]) / 2.0 * 0.1, 0.1),
        (lambda a, b, w: -(0.1 * mean(a, b, w)), -0.1),
        (lambda a, b, w: (a / 2.0 + b / 2.0) * 0.1, 0.1),
        (lambda a, b, w: (a / 2.0 + b / 4.0) * 0.1, None),
        (lambda a, b, w: a / 2.0 + b / 2.0, None),
        (mean, None),
        (lambda a, b, w: tf.add_n([a, b]), None),
        (lambda a, b, w: tf.add_n([a, b]) / 20.0, None),
        (lambda a, b, w: tf.add_n([a, b]) * 3.0, None),
    ],
)
def test_a_constant_on_a_mean_is_told_from_the_divisor_of_a_sum(combine, multiplier):
    graph, found = program(combine)
    (entry,) = found.plan.phases[0].combine
    result = multiplier_of_mean(found.cut.graph, found.context.imported, entry, 2)
    assert result == (None if multiplier is None else pytest.approx(multiplier))


def scale():
    """A scalar that is no constant."""
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        return v1.get_variable("scale", initializer=2.0, use_resource=False, trainable=False)


@pytest.mark.parametrize(
    "combine, constants, kind",
    [
        (lambda a, b, w: tf.add_n([a, b]) / scale() / 2.0, 0.5, "mean"),
        (lambda a, b, w: -(0.5 * (scale() * tf.add_n([a, b]))), 0.5, "mean"),
        (lambda a, b, w: tf.add_n([a, b]) / scale() / 4.0, 0.25, "sum"),
        (lambda a, b, w: tf.add_n([a, b]) / scale(), 1.0, "sum"),
        (lambda a, b, w: scale() / tf.add_n([a, b]) / 2.0, 1.0, "sum"),
    ],
)
def test_a_sum_that_is_divided_behind_another_scalar_is_a_mean(combine, constants, kind):
    graph, found = program(combine)
    (phase,) = found.plan.phases
    (entry,), (effect,) = phase.combine, [one for one in phase.effects if one.gradient]
    assert constants_behind(found.cut.graph, found.context.imported, entry, effect.gradient) == constants
    assert [row["are"] for row in combining_rows(AnalysedStep(found))] == [kind]


def of_layers(last, reduce=tf.reduce_sum):
    """(how gradients are combined, the sentence on sums, hazards) of two weights."""
    graph, found = program(mean, last, reduce=reduce)
    step, whole = AnalysedStep(found), WholeGraph(graph, found)
    hazards = [*sums_divided_by_another_count(whole, found), *mixed_combining(whole, found)]
    rows = [row["are"] for row in combining_rows(step)]
    return rows, sum_text(step, step.phases[0]), [hazard.row()["hazard"] for hazard in hazards]


@pytest.mark.parametrize("factor", [0.1, 2.0])
def test_the_learning_rate_of_a_layer_is_no_other_way_of_combining(factor):
    rows, _, hazards = of_layers(lambda a, b, w: mean(a, b, w) * factor)
    assert set(rows) == {"mean", f"mean, times {factor:g}"} and hazards == []


def test_a_sum_beside_a_mean_is_said_to_be_one():
    rows, sentence, hazards = of_layers(lambda a, b, w: a + b)
    assert set(rows) == {"mean", "sum"} and hazards == ["MIXED_COMBINING"]
    assert sentence == "of the gradients, those of w1 are summed over towers, and those of others averaged"


def test_a_sum_that_is_divided_by_another_number_and_a_mean_that_is_divided_again_are_named():
    assert of_layers(lambda a, b, w: (a + b) / 20.0)[2] == ["GRADIENTS_DIVIDED_BY_ANOTHER_COUNT"]
    assert of_layers(lambda a, b, w: mean(a, b, w) / 2.0, tf.reduce_mean)[2] == ["GRADIENTS_DIVIDED_BY_ANOTHER_COUNT"]
    assert of_layers(lambda a, b, w: mean(a, b, w) * 0.5, tf.reduce_mean)[2] == []  # beside a mean: a layer's own rate


def test_a_mean_that_is_halved_for_all_variables_is_named():
    graph, found = program(*[lambda a, b, w: mean(a, b, w) * 0.5] * 2, reduce=tf.reduce_mean)
    hazards = sums_divided_by_another_count(WholeGraph(graph, found), found)
    assert [hazard.id for hazard in hazards] == ["GRADIENTS_DIVIDED_BY_ANOTHER_COUNT"]


@pytest.mark.parametrize("factor, count", [(0.1, 0), (0.125, 1)])
def test_a_share_of_a_sum_is_one_over_no_number_of_towers(factor, count):
    hazards = of_layers(lambda a, b, w: (a + b) * factor)[2]
    assert hazards.count("GRADIENTS_DIVIDED_BY_ANOTHER_COUNT") == count


@pytest.mark.parametrize(
    "reduce, count",
    [(tf.reduce_sum, 0), (tf.nn.l2_loss, 0), (lambda x: tf.reduce_mean([tf.nn.l2_loss(x), tf.reduce_sum(x)]), 0)]
    + [(tf.reduce_mean, 1), (lambda x: tf.reduce_mean(tf.reduce_sum(x, 1)), 1)],
)
def test_sums_over_examples_that_are_divided_by_those_of_all_towers_are_a_mean(reduce, count):
    """Each of two towers has two examples; means over these would be divided once more."""
    hazards = of_layers(lambda a, b, w: tf.add_n([a, b]) / 4.0, reduce)[2]
    assert hazards.count("GRADIENTS_DIVIDED_BY_ANOTHER_COUNT") == count


def test_a_loss_scale_that_is_divided_out_behind_the_mean_is_no_layers_factor():
    def build():
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(x * w)) * 128.0, [w])
        v1.train.MomentumOptimizer(0.5, 0.9).apply_gradients([(mean(*gradients, w) / 128.0, w)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    (row,) = combining_rows(AnalysedStep(found))
    assert row["are"] == "sum, scaled by 0.00390625: a mean, without the losses' factor of 128"


def joined(scale, unique):
    """Combines two towers' rows of a table: joined, perhaps added up by `tf.unique`, and divided."""

    def combine(a, b):
        values, indices = tf.concat([a.values, b.values], 0), tf.concat([a.indices, b.indices], 0)
        if unique:
            indices, places = tf.unique(indices)
            values = tf.math.unsorted_segment_sum(values, places, tf.size(indices))
        return tf.IndexedSlices(values / scale if scale else values, indices, a.dense_shape)

    return combine


@pytest.mark.parametrize("optimizer", [v1.train.AdamOptimizer, lambda: v1.train.MomentumOptimizer(0.5, 0.9)])
@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("scale, text, names", [(2.0, "concat, scaled by 0.5: a mean", []), (0.0, "concat", ["table"])])
def test_rows_that_are_added_up_and_divided_are_a_mean(optimizer, resource, unique, scale, text, names):
    """Adam adds up equal rows once more, and takes a share of them into each moment; its moments are no variables."""

    def build():
        table, w = (v1.get_variable(n, s, use_resource=resource) for n, s in (("table", [9, 3]), ("w", [3, 1])))
        towers = []
        for tower, ids in enumerate(tf.split(v1.placeholder(tf.int32, [8], "ids"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(tf.gather(table, ids) @ w))
                towers.append(tf.gradients(loss, [table, w]))
        rows, dense = zip(*towers)
        pairs = [(joined(scale, unique)(*rows), table), (tf.add_n(dense) / 2.0, w)]
        optimizer().apply_gradients(pairs, name="train")

    graph = saved(traced(build), trainable_variables=["table", "w"])
    found = analyse_graph(graph, "small", ["train"])
    rows = combining_rows(AnalysedStep(found))
    assert [row["are"] for row in rows if row["of"].split(", ")[0] == "table"] == [text]
    hazards = list(mixed_combining(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["SPARSE_GRADIENTS_SUMMED"] * len(names)
    assert all(f"1 variable ({', '.join(names)})" in hazard.description for hazard in hazards)


@pytest.mark.parametrize("divisor, names", [(1.0, ["SPARSE_GRADIENTS_SUMMED"]), (2.0, [])])
def test_rows_that_each_tower_multiplies_by_its_examples_are_summed_where_nothing_divides_them(divisor, names):
    """As in a language model whose embedding has gradients of a sum over the examples, of 4 a tower."""

    def build():
        table, w = (v1.get_variable(n, s, use_resource=False) for n, s in (("table", [9, 3]), ("w", [3, 1])))
        towers = []
        for tower, ids in enumerate(tf.split(v1.placeholder(tf.int32, [8], "ids"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                rows, dense = tf.gradients(tf.reduce_mean(tf.square(tf.gather(table, ids) @ w)), [table, w])
                towers.append((tf.IndexedSlices(rows.values * 4.0, rows.indices, rows.dense_shape), dense))
        rows, dense = zip(*towers)
        pairs = [(joined(divisor, False)(*rows), table), (tf.add_n(dense) / 2.0, w)]
        v1.train.AdagradOptimizer(0.5).apply_gradients(pairs, name="train")

    graph = saved(traced(build), trainable_variables=["table", "w"])
    found = analyse_graph(graph, "small", ["train"])
    assert [hazard.id for hazard in mixed_combining(WholeGraph(graph, found), found)] == names


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_rows_are_multiplied_by_the_learning_rate_of_their_own_optimizer(rate):
    """Gradient descent of rows multiplies them before it subtracts them; another optimizer has another rate."""

    def build():
        w, table = (v1.get_variable(n, s, use_resource=False) for n, s in (("w", [3, 1]), ("table", [9, 3])))
        towers = []
        for tower, ids in enumerate(tf.split(v1.placeholder(tf.int32, [8], "ids"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                towers.append(tf.gradients(tf.reduce_mean(tf.square(tf.gather(table, ids) @ w)), [w, table]))
        dense, rows = zip(*towers)
        first = v1.train.GradientDescentOptimizer(rate).apply_gradients([(tf.add_n(dense), w)])
        second = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(joined(0.0, False)(*rows), table)])
        tf.group(first, second, name="train")

    graph = saved(traced(build), trainable_variables=["w", "table"])
    found = analyse_graph(graph, "small", ["train"])
    assert not list(mixed_combining(WholeGraph(graph, found), found))


@pytest.mark.parametrize(
    "combines, divided",
    [
        ([mean, lambda *given: 2.0 * mean(*given)], [False, True]),
        ([mean, lambda first, second, weight: mean(2.0 * first, 2.0 * second, weight)], [False, True]),
        ([lambda *given: 0.25 * mean(*given)] * 2, [True, True]),
        ([lambda *given: 2.0 * mean(*given)] * 2, [False, False]),  # a mean times the number of towers
        ([mean, lambda first, second, weight: first + second], [False, False]),
        ([lambda first, second, weight: 4.0 * (first + second)] * 2, [False, False]),
    ],
)
def test_a_multiple_of_a_mean_stays_one_at_other_numbers_of_replicas(combines, divided):
    (phase,) = program(*combines)[1].plan.phases
    found = {combine.weight: combine for combine in phase.combine}
    assert [found[f"w{number}"].divided for number in (0, 1)] == divided
    expected = [0.5 if one.divided else 1.0 for one in found.values()]
    assert [rescaling(one, phase.loss_scale, towers=2, replicas=4) for one in found.values()] == expected


def test_only_multiples_of_a_mean_are_marked():
    step = AnalysedStep(program(mean, lambda *given: 2.0 * mean(*given))[1])
    (phase,) = step.plan.phases
    plain = [dataclasses.replace(one, divided=False) for one in phase.combine]
    made = with_multiples_of_means(step.graph, step.imported, plain, 2)
    assert {one.weight: one.divided for one in made} == {"w0": False, "w1": True}
