"""Critics with the same target for real and made examples, beside those with two."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.equal_targets import equal_targets
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def squares(scores, target):
    return tf.reduce_mean((scores - target) ** 2) if target else tf.reduce_mean(tf.square(scores))


def entropies(scores, target):
    labels = tf.ones_like(scores) * target if target else tf.zeros_like(scores)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores))


def found(loss, of_real, of_made, makes=True, of_others=None):
    def build():
        g, c = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("g", [3, 4]), ("c", [4, 1])))
        noise = v1.random_normal([4, 3])
        made = tf.tanh(noise @ g) if makes else v1.placeholder(tf.float32, [4, 4], "other")
        score = lambda x: x @ c + 0.5  # noqa: E731
        critic = loss(score(v1.placeholder(tf.float32, [4, 4], "real")), of_real) + loss(score(made), of_made)
        if of_others is not None:
            critic += loss(score(v1.placeholder(tf.float32, [4, 4], "unfit")), of_others)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(critic, var_list=[c], name="c_train")
        optimizer.minimize(loss(score(tf.tanh(noise @ g)), 1.0), var_list=[g], name="g_train")

    return [hazard.id for hazard in equal_targets(WholeGraph(saved(traced(build), trainable_variables=["g", "c"])))]


@pytest.mark.parametrize("loss", [squares, entropies])
@pytest.mark.parametrize(
    "of_real, of_made, makes, count",
    [(1.0, 1.0, True, 1), (0.0, 0.0, True, 1), (1.0, 0.0, True, 0), (0.75, 0.0, True, 0), (1.0, 1.0, False, 0)],
)
def test_one_target_for_real_and_made_examples_is_named(loss, of_real, of_made, makes, count):
    assert found(loss, of_real, of_made, makes) == ["CRITIC_TARGETS_EQUAL"] * count


@pytest.mark.parametrize("loss", [squares, entropies])
@pytest.mark.parametrize("of_real, of_others, count", [(1.0, 0.0, 0), (0.0, 0.0, 1)])
def test_real_examples_that_do_not_fit_have_the_target_of_made_ones(loss, of_real, of_others, count):
    assert found(loss, of_real, 0.0, of_others=of_others) == ["CRITIC_TARGETS_EQUAL"] * count


@pytest.mark.parametrize(
    "loss, of_real, of_made, count",
    [(entropies, 0.9, 1.0, 1), (entropies, 0.0, 0.1, 1), (entropies, 0.9, 0.1, 0), (squares, 0.9, 1.0, 0)],
)
def test_smoothed_labels_of_one_answer_are_one_target(loss, of_real, of_made, count):
    assert found(loss, of_real, of_made) == ["CRITIC_TARGETS_EQUAL"] * count


def hinges(scores, target):
    return tf.reduce_mean(tf.nn.relu(1.0 - scores if target else 1.0 + scores))


def bounded_below(scores, target):
    return tf.reduce_mean(tf.maximum(0.0, 1.0 - scores if target else 1.0 + scores))


@pytest.mark.parametrize("loss", [hinges, bounded_below])
@pytest.mark.parametrize("of_real, of_made, count", [(1.0, 1.0, 1), (0.0, 0.0, 1), (1.0, 0.0, 0), (0.0, 1.0, 0)])
def test_hinges_of_one_side_for_real_and_made_examples_are_named(loss, of_real, of_made, count):
    assert found(loss, of_real, of_made) == ["CRITIC_TARGETS_EQUAL"] * count
