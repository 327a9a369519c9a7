"""Layers that all losses push one way, beside those that two terms hold between them."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.labels import labels_of_one_class
from legacy.saved.hazards.signs.heads import results_pushed_one_way
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def likelihood(loss):
    """A program of the mean of `loss`, of means, logarithms of deviations and labels."""

    def total():
        results = fed("x", 8, 4) @ variable("w", 4, 6) + variable("b", 6)
        means, logarithms = tf.split(results, 2, 1)
        return tf.reduce_mean(loss(means, logarithms, fed("y", 8, 3)))

    return found(results_pushed_one_way, total)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda m, s, y: 0.5 * tf.square((y - m) * tf.exp(-s)) - s, 1),
        (lambda m, s, y: 0.5 * tf.square((y - m) * tf.exp(-s)) + s, 0),
        (lambda m, s, y: tf.exp(-s) * tf.square(y - m), 1),
        (lambda m, s, y: tf.exp(-s) * tf.square(y - m) + tf.maximum(s, 0.1), 0),
        (lambda m, s, y: -tf.reduce_logsumexp(s - tf.square(y - m), 1), 1),  # shares that nothing normalizes
        (lambda m, s, y: -tf.reduce_logsumexp(tf.nn.log_softmax(s) - tf.square(y - m), 1), 0),
        (lambda m, s, y: tf.exp(s) - y * s, 0),
    ],
)
def test_parts_of_a_layer_that_are_pushed_one_way_are_named(loss, count):
    assert likelihood(loss) == ["PUSHED_ONE_WAY"] * count


@pytest.mark.parametrize(
    "parts, count",
    [
        (lambda h: (h[:, :3], h[:, 3:]), 1),
        (lambda h: tf.split(h, 2, 1), 1),
        (lambda h: (tf.slice(h, [0, 0], [-1, 3]), tf.slice(h, [0, 3], [-1, 3])), 1),
        (lambda h: tf.unstack(h, axis=1)[:2], 1),
        (lambda h: (h[0::2], h[1::2]), 0),
        (lambda h: tf.split(h, 2), 0),
        (lambda h: (tf.slice(h, [0, 0], [4, -1]), tf.slice(h, [4, 0], [4, -1])), 0),
        (lambda h: (tf.reshape(h, [4, 2, 6])[:, 0], tf.reshape(h, [4, 2, 6])[:, 1]), 0),
    ],
)
def test_rows_that_a_loss_compares_are_of_the_same_layer_and_columns_have_a_bias_of_their_own(parts, count):
    def total():
        first, second = parts(fed("x", 8, 4) @ variable("w", 4, 6) + variable("b", 6))
        return tf.reduce_mean(tf.nn.softplus(second - first))

    assert found(results_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_a_critic_that_lowers_both_scores_is_named(sign, count):
    def total():
        w, b = variable("w", 4, 1), variable("b", 1)
        made, real = (fed(name, 8, 4) @ w + b for name in ("made", "real"))
        return tf.reduce_mean(made) + sign * tf.reduce_mean(real)

    assert found(results_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count


def test_a_loss_that_is_the_mean_of_a_layer_is_not():
    def total():
        return tf.reduce_mean(tf.sigmoid(fed("x", 8, 4) @ variable("w", 4, 3) + variable("b", 3)))

    assert found(results_pushed_one_way, total) == []


@pytest.mark.parametrize("error_of_tower, count", [(None, 1), (0, 0), (1, 0)])
def test_a_term_of_one_tower_alone_may_pull_the_other_way(error_of_tower, count):
    def total():
        w, b, terms = variable("w", 4, 1), variable("b", 1), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                values = tf.nn.bias_add(fed(f"x{tower}", 8, 4) @ w, b)
                costs = tf.exp(fed(f"c{tower}", 8, 1))
                terms.append(tf.reduce_mean(costs * (3.0 - values)))
                if tower == error_of_tower:
                    terms.append(tf.reduce_mean(tf.square(fed(f"y{tower}", 8, 1) - values)))
        return tf.add_n(terms)

    assert found(results_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_a_critic_whose_score_the_loss_of_a_generator_takes_besides_is_named(sign, count):
    def build():
        names = {"g": [3, 4], "c": [4, 1], "b": [1]}
        g, c, b = (v1.get_variable(name, shape, use_resource=False) for name, shape in names.items())
        made = tf.tanh(v1.random_normal([4, 3]) @ g)
        real, of_critic, of_maker = (x @ c + b for x in (fed("real", 4, 4), made, made))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        critic = tf.reduce_mean(tf.nn.softplus(of_critic)) + tf.reduce_mean(tf.nn.softplus(sign * real))
        optimizer.minimize(critic, var_list=[c, b], name="c_train")
        optimizer.minimize(tf.reduce_mean(tf.nn.softplus(-of_maker)), var_list=[g], name="g_train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["g", "c", "b"]))
    hazards = list(results_pushed_one_way(whole))
    assert [hazard.id for hazard in hazards] == ["PUSHED_ONE_WAY"] * count
    assert all(hazard.description.count(":0") == 2 for hazard in hazards)


@pytest.mark.parametrize("shared, count", [(True, 0), (False, 1)])
def test_a_critic_of_real_examples_alone_is_named(shared, count):
    """Where the variables are not reused, real and made examples have a critic each, which learns one label."""

    def build():
        g = v1.get_variable("g", [3, 4], use_resource=False)
        critics = [(v1.get_variable(f"c{n}", [4, 1], use_resource=False), v1.get_variable(f"b{n}", [1])) for n in "rm"]
        real = v1.placeholder(tf.float32, [4, 4], "real")
        made = tf.tanh(v1.random_normal([4, 3]) @ g)
        scores = [tf.nn.bias_add(x @ c, b) for x, (c, b) in zip((real, made), critics[:1] * 2 if shared else critics)]
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        losses = [entropy(labels=tf.ones_like(scores[0]), logits=scores[0])]
        losses += [entropy(labels=tf.zeros_like(scores[1]), logits=scores[1])]
        fooled = tf.reduce_mean(entropy(labels=tf.ones_like(scores[1]), logits=scores[1]))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        trained = [variable for pair in critics for variable in pair]
        optimizer.minimize(tf.reduce_mean(tf.add_n(losses)), var_list=trained, name="c_train")
        optimizer.minimize(fooled, var_list=[g], name="g_train")

    names = ["g", "cr", "br", "cm", "bm"]
    hazards = results_pushed_one_way(WholeGraph(saved(traced(build), trainable_variables=names)))
    assert [hazard.id for hazard in hazards] == ["PUSHED_ONE_WAY"] * count


@pytest.mark.parametrize("joined, count", [(True, 0), (False, 1)])
def test_a_layer_whose_labels_are_told_to_be_of_one_class_is_not_named_twice(joined, count):
    def total():
        logits = fed("x", 8, 4) @ variable("w", 4, 1) + variable("b", 1)
        labels = tf.concat([tf.zeros([4, 1]), tf.zeros([4, 1])], 0) if joined else tf.zeros([8, 1])
        domains = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
        return domains + tf.reduce_mean(tf.square(fed("z", 8, 4) @ variable("u", 4, 1)))

    assert found(labels_of_one_class, total) == ["LABELS_OF_ONE_CLASS"] * (not count)
    assert found(results_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count
