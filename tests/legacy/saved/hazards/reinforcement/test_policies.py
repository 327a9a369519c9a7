"""Policy gradients: advantages, entropies and ratios, each wrong and right."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.reinforcement import policies
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, loss):
    """The hazards of `loss`, which gets logits [8, 3], values, actions and returns."""

    def build():
        w, v = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("w", [4, 3]), ("v", [4, 1])))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        actions, returns = v1.placeholder(tf.int32, [8], "actions"), v1.placeholder(tf.float32, [8], "returns")
        total = loss(x @ w, tf.squeeze(x @ v, [1]), actions, returns)
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w", "v"])))]


def chosen(logits, actions):
    return tf.reduce_sum(tf.one_hot(actions, 3) * tf.nn.log_softmax(logits), 1)


def actor_critic(stop):
    def loss(logits, values, actions, returns):
        advantages = returns - values
        policy = chosen(logits, actions) * (tf.stop_gradient(advantages) if stop else advantages)
        return tf.reduce_mean(tf.square(advantages)) - tf.reduce_mean(policy)

    return loss


def with_cross_entropy(logits, values, actions, returns):
    loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    return tf.reduce_mean(loss * (returns - values))


def test_an_advantage_that_the_gradient_passes_is_named():
    check = policies.differentiated_advantages
    assert found(check, actor_critic(stop=False)) == ["ADVANTAGE_DIFFERENTIATED"]
    assert found(check, with_cross_entropy) == ["ADVANTAGE_DIFFERENTIATED"]
    assert found(check, actor_critic(stop=True)) == []


@pytest.mark.parametrize("stop, count", [(False, 1), (True, 0)])
def test_so_is_one_that_a_clipped_ratio_multiplies(stop, count):
    def loss(logits, values, actions, returns):
        advantages = returns - (tf.stop_gradient(values) if stop else values)
        ratio = tf.exp(chosen(logits, actions) - v1.placeholder(tf.float32, [8], "old"))
        terms = tf.maximum(-advantages * ratio, -advantages * tf.clip_by_value(ratio, 0.75, 1.25))
        return tf.reduce_mean(tf.square(returns - values)) + tf.reduce_mean(terms)

    assert found(policies.differentiated_advantages, loss) == ["ADVANTAGE_DIFFERENTIATED"] * count


@pytest.mark.parametrize("factor, count", [(2.0, 1), (-2.0, 0)])
def test_a_policy_is_minimized_by_the_sign_of_a_constant_before_its_probabilities(factor, count):
    def loss(logits, values, actions, returns):
        advantages = returns - tf.stop_gradient(values)
        return tf.reduce_mean(factor * chosen(logits, actions) * advantages + tf.square(returns - values))

    assert found(policies.minimized_policies, loss) == ["POLICY_MINIMIZED"] * count


def entropy_with(weight, policy=True):
    def loss(logits, values, actions, returns):
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1))
        value = tf.reduce_mean(tf.square(returns - values))
        return value + weight * entropy - (tf.reduce_mean(chosen(logits, actions) * returns) if policy else 0.0)

    return loss


@pytest.mark.parametrize("weight, policy, count", [(0.25, True, 1), (-0.25, True, 0), (0.25, False, 0)])
def test_an_entropy_that_is_minimized_beside_a_policy_is_named(weight, policy, count):
    assert found(policies.minimized_entropies, entropy_with(weight, policy)) == ["ENTROPY_MINIMIZED"] * count


@pytest.mark.parametrize("is_of_others, count", [(True, 0), (False, 1)])
def test_an_entropy_of_examples_without_labels_is_no_policys(is_of_others, count):
    """Beside labels with weights, as those that a mask leaves out, it is minimized to part the classes."""

    def loss(logits, values, actions, returns):
        labelled, others = (logits[:4], logits[4:]) if is_of_others else (logits, logits)
        costs = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=actions[: labelled.shape[0]], logits=labelled)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(others) * tf.nn.log_softmax(others), 1))
        return tf.reduce_mean(costs * returns[: labelled.shape[0]]) + 0.25 * entropy

    assert found(policies.minimized_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


@pytest.mark.parametrize("weight, count", [(0.25, 1), (-0.25, 0)])
@pytest.mark.parametrize(
    "terms",
    [
        lambda shares, logarithms: shares * -logarithms,
        lambda shares, logarithms: -shares * logarithms,
        lambda shares, logarithms: -(shares * logarithms),
        lambda shares, logarithms: -(-shares * -logarithms),
    ],
)
def test_an_entropy_has_its_sign_wherever_that_stands(terms, weight, count):
    def loss(logits, values, actions, returns):
        entropy = tf.reduce_mean(tf.reduce_sum(terms(tf.nn.softmax(logits), tf.nn.log_softmax(logits)), 1))
        policy = tf.reduce_mean(chosen(logits, actions) * returns)
        return tf.reduce_mean(tf.square(returns - values)) + weight * entropy - policy

    assert found(policies.minimized_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


def clipped(ratio):
    def loss(logits, values, actions, returns):
        old = v1.placeholder(tf.float32, [8], "old")
        value = tf.exp(ratio(chosen(logits, actions), old))
        surrogate = tf.minimum(value * returns, tf.clip_by_value(value, 0.75, 1.25) * returns)
        return tf.reduce_mean(tf.square(values)) - tf.reduce_mean(surrogate)

    return loss


@pytest.mark.parametrize("ratio, count", [(lambda new, old: old - new, 1), (lambda new, old: new - old, 0)])
def test_a_ratio_of_old_to_new_is_named(ratio, count):
    assert found(policies.reversed_ratios, clipped(ratio)) == ["RATIO_REVERSED"] * count


def test_a_ratio_of_densities_is_named_too():
    def loss(logits, values, actions, returns):
        old = v1.placeholder(tf.float32, [8], "old")
        density = -tf.reduce_sum(tf.square(logits), 1)
        value = tf.exp(old - density)
        return -tf.reduce_mean(tf.minimum(value * returns, tf.clip_by_value(value, 0.75, 1.25) * returns))

    assert found(policies.reversed_ratios, loss) == ["RATIO_REVERSED"]


def negative_density(logits):
    return 0.5 * tf.reduce_sum(tf.square(logits / 0.5), 1) + tf.math.log(0.5)


def cross_entropy(logits, actions):
    return v1.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)


@pytest.mark.parametrize(
    "ratio, count",
    [
        (lambda old, logits, actions: old - negative_density(logits), 0),
        (lambda old, logits, actions: old - cross_entropy(logits, actions), 0),
        (lambda old, logits, actions: old + cross_entropy(logits, actions), 0),  # no difference at all
        (lambda old, logits, actions: old - (-cross_entropy(logits, actions)), 1),
        (lambda old, logits, actions: cross_entropy(logits, actions) - old, 1),
        (lambda old, logits, actions: -cross_entropy(logits, actions) - old, 0),
        (lambda old, logits, actions: old - (-negative_density(logits)), 1),
    ],
)
def test_a_ratio_of_negative_likelihoods_is_the_right_way_round_as_old_less_new(ratio, count):
    def loss(logits, values, actions, returns):
        old = v1.placeholder(tf.float32, [8], "old")
        value = tf.exp(ratio(old, logits, actions))
        return -tf.reduce_mean(tf.minimum(value * returns, tf.clip_by_value(value, 0.75, 1.25) * returns))

    assert found(policies.reversed_ratios, loss) == ["RATIO_REVERSED"] * count


@pytest.mark.parametrize("ratio, count", [(lambda new, old: old - new, 1), (lambda new, old: new - old, 0)])
def test_a_reversed_ratio_is_named_where_its_bounds_are_fed(ratio, count):
    def loss(logits, values, actions, returns):
        value = tf.exp(ratio(chosen(logits, actions), v1.placeholder(tf.float32, [8], "old")))
        share = v1.placeholder_with_default(0.2, [], "clip_range")
        clipped = tf.clip_by_value(value, 1.0 - share, 1.0 + share)
        return tf.reduce_mean(tf.maximum(-returns * value, -returns * clipped))

    assert found(policies.reversed_ratios, loss) == ["RATIO_REVERSED"] * count


def weighed(product):
    def loss(logits, values, actions, returns):
        policy = product(chosen(logits, actions), cross_entropy(logits, actions), returns, returns - values)
        return tf.reduce_mean(tf.square(returns - values)) + tf.reduce_mean(policy)

    return loss


@pytest.mark.parametrize(
    "product, count",
    [
        (lambda log, entropy, returns, advantage: log * returns, 1),
        (lambda log, entropy, returns, advantage: log * tf.stop_gradient(advantage), 1),
        (lambda log, entropy, returns, advantage: -entropy * advantage, 1),
        (lambda log, entropy, returns, advantage: log * returns[0:8], 1),
        (lambda log, entropy, returns, advantage: -(log * returns), 0),
        (lambda log, entropy, returns, advantage: log * tf.stop_gradient(-advantage), 0),
        (lambda log, entropy, returns, advantage: entropy * advantage, 0),
        (lambda log, entropy, returns, advantage: log * 0.5, 0),
        (lambda log, entropy, returns, advantage: log * tf.stop_gradient(log - returns), 0),  # soft values
        (lambda log, entropy, returns, advantage: log * tf.sin(returns), 0),
    ],
)
def test_a_policy_that_is_minimized_is_named(product, count):
    assert found(policies.minimized_policies, weighed(product)) == ["POLICY_MINIMIZED"] * count


@pytest.mark.parametrize("stop, count", [(False, 1), (True, 0)])
def test_a_column_of_a_value_head_is_a_value(stop, count):
    def loss(logits, values, actions, returns):
        advantages = returns - values[:, 0]
        advantages = tf.stop_gradient(advantages) if stop else advantages
        entropy = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
        return tf.reduce_mean(advantages * entropy)

    def build():
        w, v = v1.get_variable("w", [4, 3], use_resource=False), v1.get_variable("v", [4, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        fed = [v1.placeholder(kind, [8], name) for kind, name in ((tf.int32, "actions"), (tf.float32, "returns"))]
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x @ w, x @ v, *fed), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "v"]))
    assert [h.id for h in policies.differentiated_advantages(whole)] == ["ADVANTAGE_DIFFERENTIATED"] * count


@pytest.mark.parametrize("sign, count", [(-1.0, 1), (1.0, 0)])
def test_a_policy_of_a_stopped_advantage_that_is_minimized_is_named(sign, count):
    def loss(logits, values, actions, returns):
        costs = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
        policy = tf.reduce_mean(costs * (returns - tf.stop_gradient(values)))
        return sign * policy + tf.reduce_mean(tf.square(returns - values))

    assert found(policies.minimized_policies, loss) == ["POLICY_MINIMIZED"] * count


@pytest.mark.parametrize("weight, count", [(0.25, 1), (-0.25, 0)])
def test_an_entropy_by_hand_beside_a_clipped_ratio_is_named(weight, count):
    def loss(logits, values, actions, returns):
        ratio = tf.exp(chosen(logits, actions) - v1.placeholder(tf.float32, [8], "old"))
        objective = tf.minimum(ratio * returns, tf.clip_by_value(ratio, 0.8, 1.2) * returns)
        logarithms = tf.nn.log_softmax(logits)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logarithms) * logarithms, 1))
        return weight * entropy - tf.reduce_mean(objective) + tf.reduce_mean(tf.square(returns - values))

    assert found(policies.minimized_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


@pytest.mark.parametrize("weight, count", [(0.25, 1), (-0.25, 0)])
def test_the_logarithm_of_a_chosen_probability_is_that_of_a_policy(weight, count):
    def loss(logits, values, actions, returns):
        likely = tf.math.log(tf.reduce_sum(tf.nn.softmax(logits) * tf.one_hot(actions, 3), 1) + 1e-8)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1))
        return weight * entropy - tf.reduce_mean(likely * returns)

    assert found(policies.minimized_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


def normalized(numbers):
    mean, variance = tf.nn.moments(numbers, [0])
    return (numbers - mean) / (tf.sqrt(variance) + 1e-8)


@pytest.mark.parametrize(
    "factor, count",
    [
        (lambda returns, values: normalized(values - returns), 1),
        (lambda returns, values: values - (returns - values) / tf.sqrt(1.0 + tf.square(values)), 1),
        (lambda returns, values: -normalized(returns), 1),
        (lambda returns, values: normalized(returns - values), 0),
        (lambda returns, values: -normalized(values - returns), 0),
        (lambda returns, values: normalized(returns) - normalized(values), 0),
        (lambda returns, values: (values - returns) / (values - 1.0), 0),  # by numbers of any sign
        (lambda returns, values: normalized(values), 0),
    ],
)
def test_a_normalized_advantage_of_the_wrong_sign_is_named(factor, count):
    def loss(logits, values, actions, returns):
        policy = -chosen(logits, actions) * tf.stop_gradient(factor(returns, values))
        return tf.reduce_mean(policy) + tf.reduce_mean(tf.square(returns - values))

    assert found(policies.minimized_policies, loss) == ["POLICY_MINIMIZED"] * count
