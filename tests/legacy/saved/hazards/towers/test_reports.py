"""Summaries that show one tower's results alone, and programs whose summaries show all."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.towers import reports
from tests.legacy.saved.facts.tower_pages import hazards as names_of
from tests.legacy.saved.facts.tower_pages import parts, program, sections_of, squares
from tests.legacy.saved.graphs import graph_of, saved, traced
from tests.legacy.saved.hazards.two_towers import TOWERS, hazards

v1 = tf.compat.v1
#: Both towers multiply data.
DATA = TOWERS.replace("Mul(v, w)", "Mul(v, x)") + "x = IteratorGetNext()\ntag = Const()\n"
FIRST = "shown = ScalarSummary(tag, tower_0/y)\n"


def test_a_summary_of_the_first_tower_alone():
    (found,) = hazards(reports.reports_of_one_tower, DATA + FIRST)
    assert found == ("REPORTED_BY_ONE_TOWER", "shown", "1 summary shows tower 0 alone")


def test_histograms_and_shares_of_zeros_of_that_tower_are_counted_besides():
    """As those of the activations of a loop's last tower; histograms of gradients of all towers are others."""
    text = DATA + FIRST + ALL.replace("whole = ScalarSummary", "whole = HistogramSummary")
    more = "zeros = Equal(tower_0/y, zero)\nzero = Const()\nsparse = ScalarSummary(tag, zeros)\n"
    more += "one = HistogramSummary(tag, tower_0/y)\ntwo = HistogramSummary(tag, tower_0/y)\n"
    graph = graph_of(text + more, zero={"value": np.array(0, np.float32)})
    whole = WholeGraph(saved(graph, trainable_variables=["v", "w"]))
    (found,) = reports.reports_of_one_tower(whole)
    assert found.description == "1 summary shows tower 0 alone, as do 1 share of zeros and 2 histograms"


@pytest.mark.parametrize(
    "more",
    [
        "other = ScalarSummary(tag, tower_1/y)\n",  # the second tower is shown, too
        "sum = AddN(tower_0/y, tower_1/y)\nwhole = ScalarSummary(tag, sum)\n",
        "other = ScalarSummary(tag, tower_1/y)\nmerged = MergeSummary(shown, other)\n",
    ],
)
def test_summaries_of_all_towers(more):
    assert hazards(reports.reports_of_one_tower, DATA + FIRST + more) == []


def test_only_merged_summaries_are_written():
    text = DATA + FIRST + "other = ScalarSummary(tag, tower_1/y)\nmerged = MergeSummary(shown)\n"
    assert [found[0] for found in hazards(reports.reports_of_one_tower, text)] == ["REPORTED_BY_ONE_TOWER"]


ALL = "sum = AddN(tower_0/y, tower_1/y)\nwhole = ScalarSummary(tag, sum)\n"
ACCURACY = "tower_0/right = Equal(tower_0/y, x) @ /gpu:0\naccurate = ScalarSummary(tag, tower_0/right)\n"
OTHER = "tower_1/right = Equal(tower_1/y, x) @ /gpu:1\n"


def test_an_accuracy_of_one_tower_beside_the_loss_of_all():
    (found,) = hazards(reports.reports_of_one_tower, DATA + ALL + ACCURACY)
    text = "1 summary shows tower 0 alone: accurate, an accuracy, beside summaries of all towers"
    assert found == ("REPORTED_BY_ONE_TOWER", "accurate", text)


@pytest.mark.parametrize(
    "more",
    [
        OTHER + "other = ScalarSummary(tag, tower_1/right)\n",
        OTHER + "rights = AddN(tower_0/right, tower_1/right)\nother = ScalarSummary(tag, rights)\n",
    ],
)
def test_accuracies_of_all_towers(more):
    assert hazards(reports.reports_of_one_tower, DATA + ALL + ACCURACY + more) == []


@pytest.mark.parametrize(
    "shown, of_all, count",
    [("loss", "norm", 1), ("loss", "mean", 0), ("other", "norm", 0)],
)
def test_a_loss_of_one_tower_beside_the_norm_of_all_gradients(shown, of_all, count):
    """A summary of the loss of all makes up for it, and a result that is no loss may be that of any tower."""

    def build():
        w, losses, others, gradients = v1.get_variable("w", [4, 1], use_resource=False), [], [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                made = v1.placeholder(tf.float32, [2, 4], "x") @ w
                others.append(tf.reduce_max(made))
                losses.append(tf.reduce_mean(tf.square(made)))
                gradients += tf.gradients(losses[-1], [w])
        gradient = tf.add_n(gradients) / 2.0
        v1.summary.scalar("shown", {"loss": losses, "other": others}[shown][1])
        v1.summary.scalar("all", {"norm": tf.norm(gradient), "mean": tf.add_n(losses) / 2.0}[of_all])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    texts = [hazard[2] for hazard in reports.reports_of_one_tower(whole)]
    assert texts == ["1 summary shows tower 1 alone: shown, a loss, beside summaries of all towers"] * count


def of_losses(show):
    """The hazards of a program that shows what `show` makes of the towers' losses and errors."""

    def build():
        x, losses, errors = parts("x", 4, 3), [], []

        def loss(tower):
            losses.append(squares(x(tower)))
            errors.append(tf.reduce_max(x(tower)))
            return losses[-1]

        program(loss)()
        for name, value in show(losses, errors).items():
            v1.summary.scalar(name, value)

    return [name for name in names_of(sections_of(build)) if name == "REPORTED_BY_ONE_TOWER"]


@pytest.mark.parametrize("tower", [0, 1])
def test_a_loss_of_one_tower_beside_means_of_all(tower):
    assert of_losses(lambda losses, errors: {"loss": losses[tower], "error": tf.add_n(errors) / 2.0})


@pytest.mark.parametrize(
    "show",
    [
        lambda losses, errors: {"loss": tf.add_n(losses) / 2.0, "error": tf.add_n(errors) / 2.0},
        lambda losses, errors: {"loss": tf.add_n(losses), "first": losses[0], "error": tf.add_n(errors)},
        lambda losses, errors: {"loss": losses[0], "loss_1": losses[1], "error": tf.add_n(errors)},
        lambda losses, errors: {"loss": tf.add_n(losses), "error": errors[0]},
    ],
)
def test_losses_of_all_towers(show):
    assert of_losses(show) == []


def shown(show):
    """The sentences about a program that shows what `show` makes of its towers' {"layer", "errors", "loss"}."""

    def build():
        w, towers, gradients = v1.get_variable("w", [4, 1], use_resource=False), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                layer = tf.nn.relu(v1.placeholder(tf.float32, [2, 4], "x") @ w)
                errors = tf.square(layer - v1.placeholder(tf.float32, [2, 1], "y"))
                towers.append({"layer": layer, "errors": errors, "loss": tf.reduce_mean(errors)})
                gradients += tf.gradients(towers[-1]["loss"], [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")
        for name, value in show(towers).items():
            v1.summary.scalar(name, value)

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.description for hazard in reports.reports_of_one_tower(whole)]


def zeros(tower):
    return tf.reduce_mean(tf.cast(tf.equal(tower["layer"], 0.0), tf.float32))


def all_of(towers, name):
    return tf.concat([tower[name] for tower in towers], 0)


@pytest.mark.parametrize("show", [zeros, lambda tower: tf.reduce_max(tower["layer"])])
def test_a_loss_of_one_tower_beside_other_results_of_each(show):
    texts = shown(lambda towers: {"a": show(towers[0]), "b": show(towers[1]), "loss": towers[1]["loss"]})
    assert texts == ["1 summary shows tower 1 alone: loss, a loss, beside summaries of other towers"]


def test_a_function_of_one_towers_loss_is_a_loss():
    texts = shown(
        lambda towers: {"perplexity": tf.exp(towers[1]["loss"]), "layer": tf.reduce_max(all_of(towers, "layer"))}
    )
    assert texts == ["1 summary shows tower 1 alone: perplexity, a loss, beside summaries of all towers"]


@pytest.mark.parametrize(
    "show",
    [
        lambda towers: {"first": towers[0]["loss"], "loss": tf.reduce_mean(all_of(towers, "errors"))},
        lambda towers: {"first": towers[0]["loss"], "loss": tf.exp((towers[0]["loss"] + towers[1]["loss"]) / 2.0)},
        lambda towers: {"zeros": zeros(towers[1]), "loss": tf.reduce_mean(all_of(towers, "errors"))},
        lambda towers: {"zeros": zeros(towers[1])},
    ],
)
def test_errors_of_all_towers_and_shares_of_zeros(show):
    assert shown(show) == []


@pytest.mark.parametrize("of_tower, count", [(False, 0), (True, 1)])
def test_an_evaluation_on_the_device_of_a_tower_is_no_result_of_it(of_tower, count):
    def build():
        w, losses, inputs = v1.get_variable("w", [4, 1], use_resource=False), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                inputs.append(v1.placeholder(tf.float32, [2, 4]))
                losses.append(tf.reduce_mean(tf.square(inputs[-1] @ w)))
        gradient = tf.add_n([tf.gradients(loss, [w])[0] for loss in losses]) / 2.0
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")
        with tf.device("/gpu:0"):
            x = inputs[0] if of_tower else v1.placeholder(tf.float32, [2, 4])
            right = tf.equal(tf.sign(x @ w), v1.placeholder(tf.float32, [2, 1]))
            v1.summary.scalar("accuracy", tf.reduce_mean(tf.cast(right, tf.float32)))

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert len(list(reports.reports_of_one_tower(whole))) == count
