"""Gradients that are averaged by hand before an optimizer with a momentum, beside those averaged once."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.momenta import momenta_of_towers, momentum_twice, unordered_corrections
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(keep, optimizer, read_back=False):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        kept = v1.get_variable("kept", [4, 3], initializer=tf.zeros_initializer(), trainable=False, use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        average = keep(kept, tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0])
        if read_back:
            with tf.control_dependencies([average]):
                average = tf.identity(kept)
        optimizer.apply_gradients([(average, w)], name="train")

    return list(momentum_twice(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def averaged(kept, gradient):
    return v1.assign(kept, 0.75 * kept + gradient, name="average")


def moved(kept, gradient):
    return v1.assign_sub(kept, 0.25 * (kept - gradient), name="average")


@pytest.mark.parametrize("keep", [averaged, moved])
@pytest.mark.parametrize("read_back", [False, True])
def test_an_average_of_gradients_before_a_momentum_is_named(keep, read_back):
    (hazard,) = found(keep, v1.train.MomentumOptimizer(0.5, 0.9), read_back)
    assert hazard[:2] == ("MOMENTUM_TWICE", "average") and "average keeps 0.75 of the last ones" in hazard.description


def summed(kept, gradient):
    return v1.assign_add(kept, gradient, name="sum")


@pytest.mark.parametrize(
    "keep, optimizer",
    [
        (averaged, v1.train.GradientDescentOptimizer(0.5)),
        (summed, v1.train.MomentumOptimizer(0.5, 0.9)),
        (lambda kept, gradient: gradient, v1.train.AdamOptimizer()),
    ],
)
def test_gradients_that_are_averaged_once_or_added_up_are_not(keep, optimizer):
    assert found(keep, optimizer) == []


def of_towers(move, joined=False):
    """The hazards of two towers of which each moves a variable of its own by its gradient, or both move one."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        gradients, moved = [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0])
                if not joined:
                    kept = v1.get_variable(f"kept_{tower}", [4, 3], trainable=False, use_resource=False)
                    moved.append(move(kept, gradients[-1]))
        if joined:
            kept = v1.get_variable("kept", [4, 3], trainable=False, use_resource=False)
            moved.append(move(kept, tf.add_n(gradients) / 2.0))
        tf.group(v1.assign_sub(w, 0.5 * sum(moved)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return [hazard.id for hazard in momenta_of_towers(WholeGraph(graph, analyse_graph(graph, "small", ["train"])))]


@pytest.mark.parametrize("move", [averaged, moved])
def test_a_moving_average_of_each_towers_gradients_is_named(move):
    assert of_towers(move) == ["MOMENTUM_OF_EACH_TOWER"]


@pytest.mark.parametrize("move, is_joined", [(averaged, True), (summed, False)])
def test_one_of_all_towers_gradients_and_sums_of_each_are_not(move, is_joined):
    assert of_towers(move, is_joined) == []


def corrected(correct, first=1.0):
    """Hazards of an update by hand that multiplies by what `correct` makes of its count; it may change it, too.

    The count is `first` before the first step.
    """

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        count = v1.get_variable("count", initializer=first, trainable=False, use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        gradient = tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0]
        factor, late = correct(count)
        update = v1.assign_sub(w, 0.1 * factor * gradient)
        with tf.control_dependencies([update]):
            after = [late()] if late else []
        tf.group(update, *after, *v1.get_collection("beside"), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return list(unordered_corrections(WholeGraph(graph, analysis), analysis))


def beside(change):
    v1.add_to_collection("beside", change)


def behind(count):
    with tf.control_dependencies([v1.assign_add(count, 1.0)]):
        return 1.0 / (1.0 - 0.9 ** tf.identity(count)), None


@pytest.mark.parametrize(
    "correct",
    [
        lambda count: (1.0 / (1.0 - 0.9**count), beside(v1.assign_add(count, 1.0))),
        lambda count: (1.0 / (1.0 - tf.pow(0.9, count + 1.0)), beside(v1.assign_add(count, 1.0))),
        lambda count: (1.0 / (1.0 - count), beside(v1.assign(count, 0.9 * count))),
    ],
)
def test_a_correction_by_a_count_that_the_run_changes_in_no_order_is_named(correct):
    assert [hazard.id for hazard in corrected(correct)] == ["CORRECTION_RACE"]


@pytest.mark.parametrize(
    "correct",
    [
        lambda count: (1.0 / (1.0 - 0.9 ** v1.assign_add(count, 1.0)), None),
        lambda count: (1.0 / (1.0 - 0.9**count), lambda: v1.assign_add(count, 1.0)),
        behind,
        lambda count: (1.0 / tf.sqrt(count), beside(v1.assign_add(count, 1.0))),  # a schedule
    ],
)
def test_corrections_in_an_order_and_schedules_are_not(correct):
    assert corrected(correct) == []


@pytest.mark.parametrize(
    "late, first, said, advice",
    [
        (0.0, 0.0, "divide by 0", "what the assignment returns"),
        (0.0, 1.0, "t is 1 or 2", "under tf.control_dependencies of its read"),
        (1.0, 0.0, "t is 1 or 2", "under tf.control_dependencies of its read"),
        (0.0, 5.0, "", "make one of both wait"),
    ],
)
def test_the_order_that_is_advised_has_a_count_of_1_in_the_first_step(late, first, said, advice):
    def correct(count):
        beside(v1.assign_add(count, 1.0))
        return 1.0 / (1.0 - 0.9 ** (count + late if late else count)), None

    (hazard,) = corrected(correct, first)
    tail = hazard.description.partition(" may read it before or after ")[2].partition("; ")[2]
    assert said in tail and bool(said) == bool(tail)
    assert advice in hazard.advice


@pytest.mark.parametrize("first, advice", [(0.9, "of its read"), (1.0, "what the assignment returns")])
def test_a_variable_that_holds_the_power_begins_with_the_first_or_before_it(first, advice):
    def correct(power):
        beside(v1.assign(power, 0.9 * power))
        return 1.0 / (1.0 - power), None

    (hazard,) = corrected(correct, first)
    assert advice in hazard.advice
