"""Means over each tower's own number of words, beside those over equal numbers."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.unequal_means import unequal_mean_sentences
from tests.legacy.saved.facts.one_loss import minimized
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def counted(make_loss, combine=2.0):
    """The number of sentences on two towers whose losses are made of errors, a mask, and the sum of all masks."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        whole_mask = v1.placeholder(tf.float32, [8, 3], "mask")
        parts, masks = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), tf.split(whole_mask, 2)
        gradients, words = [], tf.reduce_sum(whole_mask)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                errors = tf.square(parts[tower] @ w)
                gradients.append(tf.gradients(make_loss(errors, masks[tower], words), [w])[0])
        total = tf.add_n(gradients) / combine
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    analysed = AnalysedStep(analysis)
    return len(list(unequal_mean_sentences(analysed, analysed.phases[0])))


def masked(errors, mask, words):
    return tf.reduce_sum(errors * mask) / tf.reduce_sum(mask)


@pytest.mark.parametrize(
    "make_loss",
    [masked, lambda errors, mask, words: v1.losses.compute_weighted_loss(errors, mask) + tf.reduce_mean(errors)],
)
def test_losses_divided_by_a_number_of_each_towers_words_are_named(make_loss):
    assert counted(make_loss) == 1
    assert counted(make_loss, combine=1.0) == 0


@pytest.mark.parametrize("number, count", [(masked, 1), (lambda errors, mask, words: tf.reduce_mean(errors), 0)])
def test_a_number_that_is_added_to_losses_of_examples(number, count):
    assert counted(lambda errors, *rest: tf.reduce_sum(errors, 1) + 0.5 * number(errors, *rest)) == count


@pytest.mark.parametrize("parts, count", [((2.0, 2.0), 1), ((2.0, 1.0), 0)])
def test_sums_of_losses_whose_terms_each_tower_divides_by_the_towers_are_means(parts, count):
    """As `model_deploy` of slim: each clone divides its losses by the number of clones, and gradients are added."""

    def divided(errors, mask, words):
        of_words = v1.losses.compute_weighted_loss(tf.math.log1p(errors), mask)
        return of_words / parts[0] + tf.reduce_mean(errors) / parts[1]

    assert counted(divided, combine=1.0) == count


@pytest.mark.parametrize("class_weights, count", [([1.0, 2.0, 0.5], 0), ([1.0, 0.0, 0.5], 1)])
def test_the_number_of_class_weights_that_are_not_zero_is_that_of_the_examples_where_no_class_has_zero(
    class_weights, count
):
    def weighted(errors, mask, words):
        weights = tf.gather(tf.constant(class_weights), tf.cast(mask[:, 0], tf.int32))
        return v1.losses.compute_weighted_loss(tf.reduce_sum(errors, 1), weights)

    assert counted(weighted) == count


def chosen(values, mask):
    """The rows whose mask is above 0, as `tf.boolean_mask` takes them."""
    return tf.gather(values, tf.squeeze(v1.where(mask[:, 0] > 0.0), 1))


def one_of_each(mask):
    """A mask of one number of each example, such as the action that was taken."""
    return tf.one_hot(tf.cast(mask[:, 0], tf.int32), 3) > 0.0


def test_means_over_rows_that_each_towers_data_choose_are_named():
    assert counted(lambda errors, mask, words: tf.reduce_mean(chosen(errors, mask))) == 1
    assert counted(lambda errors, mask, words: tf.reduce_mean(tf.abs(tf.boolean_mask(errors, mask > 0.0)))) == 1
    assert counted(lambda errors, mask, words: tf.reduce_mean(chosen(errors, errors))) == 0  # by results
    assert counted(lambda errors, mask, words: tf.reduce_mean(tf.gather(errors, [0, 2]))) == 0
    assert counted(lambda errors, mask, words: tf.reduce_mean(tf.boolean_mask(errors, one_of_each(mask)))) == 0
    assert counted(lambda errors, mask, words: tf.reduce_sum(chosen(errors, mask)) / 12.0) == 0


def by_a_loop(rows):
    """The rows as a loop returns them: of no known rank."""
    return v1.map_fn(lambda row: row * 2.0, v1.placeholder_with_default(rows, None))


def test_sums_of_what_a_loop_returns_are_numbers_too():
    assert counted(lambda errors, mask, words: tf.reduce_sum(by_a_loop(errors), [0, 1]) / tf.reduce_sum(mask)) == 1
    assert counted(lambda errors, mask, words: tf.reduce_sum(by_a_loop(errors), [0, 1]) / 12.0) == 0


def number_of(rows):
    """The number of rows, as a float."""
    return tf.cast(tf.shape(rows)[0], tf.float32)


def entropies_of_chosen(values, mask):
    """Cross entropies of rows that the first column of `tf.where` chooses."""
    logits = tf.gather(values, v1.where(mask[:, 0] > 0.0)[:, 0])
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(logits), logits=logits)


def guarded(errors, mask, words):
    """The mean over the words, in the branch where there are any."""
    number = tf.reduce_sum(mask)
    return v1.cond(number > 0.0, lambda: tf.reduce_sum(errors * mask) / number, lambda: tf.constant(0.0))


@pytest.mark.parametrize(
    "make_loss, count",
    [
        (lambda errors, mask, words: tf.reduce_sum(errors * mask) / number_of(v1.where(mask[:, 0] > 0.0)), 1),
        (lambda errors, mask, words: tf.reduce_sum(chosen(errors, mask)) / number_of(chosen(mask, mask)), 1),
        (lambda errors, mask, words: tf.reduce_sum(chosen(errors, mask)) / number_of(chosen(errors, mask)), 1),
        (lambda errors, mask, words: v1.losses.compute_weighted_loss(chosen(errors, mask)), 1),
        (lambda errors, mask, words: tf.reduce_sum(chosen(errors, mask)) / number_of(mask), 0),
        (lambda errors, mask, words: tf.reduce_sum(errors) / number_of(chosen(errors, errors)), 0),  # by results
        (lambda errors, mask, words: v1.losses.compute_weighted_loss(tf.boolean_mask(errors, one_of_each(mask))), 0),
        (guarded, 1),
        (lambda errors, mask, words: tf.reduce_mean(entropies_of_chosen(errors, mask)), 1),
        (lambda errors, mask, words: tf.reduce_mean(entropies_of_chosen(errors, errors)), 0),
        (lambda errors, mask, words: v1.cond(words > 0.0, lambda: tf.reduce_mean(errors), lambda: words), 0),
    ],
)
def test_numbers_of_rows_that_are_chosen_and_numbers_in_branches_are_named(make_loss, count):
    assert counted(make_loss) == count


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / 12.0,
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / words,
        lambda errors, mask, words: tf.reduce_mean(tf.reduce_sum(errors * mask, 1) / tf.reduce_sum(mask, 1)),
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / tf.cast(tf.size(mask), tf.float32),
        lambda errors, mask, words: v1.losses.compute_weighted_loss(errors * mask),
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / (tf.reduce_sum(errors) + tf.reduce_sum(mask)),
    ],
)
def test_losses_divided_by_equal_numbers_or_by_results_are_not(make_loss):
    assert counted(make_loss) == 0


def mean_of(losses):
    return tf.add_n(losses) / len(losses)


@pytest.mark.parametrize(
    "make_loss, total, count",
    [
        (lambda errors, mask: tf.reduce_sum(errors * mask) / tf.reduce_sum(mask), mean_of, 1),
        (lambda errors, mask: tf.reduce_sum(errors * mask) / tf.reduce_sum(mask), tf.add_n, 0),
        (lambda errors, mask: tf.reduce_sum(errors * mask) / 12.0, mean_of, 0),
    ],
)
def test_means_by_words_that_one_loss_averages_are_named(make_loss, total, count):
    def of_tower(results, name):
        return tf.identity(make_loss(results, tf.cast(results.op.inputs[0].op.inputs[0] > 0.0, tf.float32)), name)

    analysed = minimized(total, of_tower)
    found = list(unequal_mean_sentences(analysed, analysed.phases[0]))
    assert len(found) == count and all("losses are averaged" in text for text in found)


@pytest.mark.parametrize(
    "make_loss, count",
    [
        (masked, 1),
        (lambda errors, mask, words: tf.reduce_mean(errors * mask), 0),
        (lambda errors, mask, words: tf.reduce_sum(errors * mask), 0),  # of which replicas' gradients are added up
    ],
)
def test_one_tower_that_divides_by_its_words_tells_what_replicas_change(make_loss, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x, mask = v1.placeholder(tf.float32, [None, 4], "x"), v1.placeholder(tf.float32, [None, 3], "mask")
        loss = make_loss(tf.square(x @ w), mask, None)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    analysed = AnalysedStep(
        analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"])
    )
    found = list(unequal_mean_sentences(analysed, analysed.phases[0]))
    assert len(found) == count and all("number of replicas" in text for text in found)
