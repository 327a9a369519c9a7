"""Generators that are trained towards what their critic says of made examples, beside those that oppose it."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.shared_goals import generators_with_critics
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def linear(scores, is_real):
    return tf.reduce_mean(scores) * (-1.0 if is_real else 1.0)


def entropies(scores, is_real):
    labels = tf.ones_like(scores) * 0.75 if is_real else tf.zeros_like(scores)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores))


def squares(scores, is_real):
    return tf.reduce_mean(tf.square(scores - (1.0 if is_real else -1.0)))


def hinges(scores, is_real):
    return tf.reduce_mean(tf.nn.relu(1.0 - scores if is_real else 1.0 + scores))


def logarithms(scores, is_real):
    shares = tf.sigmoid(scores)
    return -tf.reduce_mean(tf.math.log(shares if is_real else 1.0 - shares))


def fused(scores, offset):
    ones = tf.ones([1])
    return tf.reshape(v1.nn.fused_batch_norm(tf.reshape(scores, [-1, 1, 1, 1]), ones, offset)[0], [-1, 1])


def composed(scores, offset):
    mean, variance = tf.nn.moments(scores, [0])
    return tf.nn.batch_normalization(scores, mean, variance, offset, None, 1e-3)


def found(of_critic, of_generator, twice=False, penalty=False, real=True, normalized=None):
    """The hazards of a critic's loss and a generator's, each of scores and whether these are to be as of real ones."""

    def build():
        g, c = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("g", [3, 4]), ("c", [4, 1])))
        offset = v1.get_variable("offset", [1], use_resource=False) if normalized else None
        score = lambda x: tf.nn.leaky_relu(normalized(x @ c, offset)) if normalized else x @ c  # noqa: E731
        made = tf.tanh(v1.random_normal([4, 3]) @ g)
        scores = score(made)
        examples = v1.placeholder(tf.float32, [4, 4], "real") if real else tf.tanh(v1.random_normal([4, 3]) @ g)
        critic = of_critic(score(examples), True) + of_critic(scores, False)
        if penalty:
            between = 0.5 * (examples + made)
            critic += tf.reduce_mean((tf.norm(tf.gradients(score(between), [between])[0], axis=1) - 1.0) ** 2)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(critic, var_list=[c, offset] if normalized else [c], name="c_train")
        optimizer.minimize(of_generator(score(made) if twice else scores), var_list=[g], name="g_train")

    trained = ["g", "c", "offset"] if normalized else ["g", "c"]
    whole = WholeGraph(saved(traced(build), trainable_variables=trained))
    return [hazard.id for hazard in generators_with_critics(whole)]


LOSSES = [linear, entropies, squares, hinges, logarithms]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_generator_with_the_critics_goal_is_named(loss, twice):
    assert found(loss, lambda scores: loss(scores, False), twice) == ["GENERATOR_HELPS_CRITIC"]
    assert found(loss, lambda scores: loss(scores, True), twice) == []


def test_losses_of_two_kinds_are_compared():
    assert found(hinges, lambda scores: tf.reduce_mean(scores)) == ["GENERATOR_HELPS_CRITIC"]
    assert found(hinges, lambda scores: -tf.reduce_mean(scores)) == []
    assert found(entropies, lambda scores: entropies(scores, False)) == ["GENERATOR_HELPS_CRITIC"]
    assert found(entropies, lambda scores: -entropies(scores, False)) == []  # as the first paper has it
    assert found(entropies, lambda scores: tf.reduce_mean(tf.square(scores))) == []  # to 0, which is no label here


def test_a_goal_between_both_of_the_critics_is_none_of_them():
    """Least squares with -1, 1 and 0, where -1 is written as a sum."""

    def critic(scores, is_real):
        return tf.reduce_mean((scores - 1.0) ** 2 if is_real else (scores + 1.0) ** 2)

    assert found(critic, lambda scores: tf.reduce_mean(scores**2)) == []
    assert found(critic, lambda scores: tf.reduce_mean((scores + 1.0) ** 2)) == ["GENERATOR_HELPS_CRITIC"]


def test_a_penalty_of_the_critic_does_not_matter():
    assert found(linear, lambda scores: linear(scores, False), penalty=True) == ["GENERATOR_HELPS_CRITIC"]
    assert found(linear, lambda scores: linear(scores, True), penalty=True) == []


def test_a_critic_of_made_examples_alone_is_no_opponent():
    """As of two domains, whose examples one network describes."""
    assert found(linear, lambda scores: linear(scores, False), real=False) == []


@pytest.mark.parametrize("normalized", [fused, composed])
@pytest.mark.parametrize("loss", [linear, hinges, logarithms])
def test_a_critic_whose_last_layer_is_normalized_by_its_batch_has_the_direction_of_its_offset(loss, normalized):
    """A weighted sum that the batch's mean is taken from is pushed neither way, and what is added to it is."""
    assert found(loss, lambda scores: loss(scores, False), normalized=normalized) == ["GENERATOR_HELPS_CRITIC"]
    assert found(loss, lambda scores: loss(scores, True), normalized=normalized) == []


@pytest.mark.parametrize("normalized", [fused, composed])
def test_a_normalized_critic_of_made_examples_alone_is_no_opponent(normalized):
    assert found(linear, lambda scores: linear(scores, False), real=False, normalized=normalized) == []


def with_last_layer_of_nobody(of_generator, judged=True):
    """The hazards where a critic's `var_list` lacks its last layer; or where that is the whole of a fixed judge."""

    def build():
        shapes = {"g": [3, 4], "c": [4, 5], "d": [5, 1]}
        g, c, d = (v1.get_variable(name, shape, use_resource=False) for name, shape in shapes.items())
        score = lambda x: tf.nn.leaky_relu(x @ c) @ d  # noqa: E731
        made, real = tf.tanh(v1.random_normal([4, 3]) @ g), v1.placeholder(tf.float32, [4, 4], "real")
        scores = score(made) if judged else tf.nn.leaky_relu(tf.pad(made, [[0, 0], [0, 1]])) @ d
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        critic = logarithms(score(real), True) + logarithms(scores, False)
        optimizer.minimize(critic, var_list=[c], name="c_train")
        optimizer.minimize(of_generator(scores), var_list=[g], name="g_train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["g", "c", "d"]))
    return [hazard.id for hazard in generators_with_critics(whole)]


def test_a_critic_whose_last_layer_nothing_trains_is_a_critic():
    assert with_last_layer_of_nobody(lambda scores: logarithms(scores, False)) == ["GENERATOR_HELPS_CRITIC"]
    assert with_last_layer_of_nobody(lambda scores: logarithms(scores, True)) == []
    assert with_last_layer_of_nobody(lambda scores: logarithms(scores, False), judged=False) == []
