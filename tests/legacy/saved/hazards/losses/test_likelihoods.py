"""A log-likelihood whose sign is wrong, beside losses with a sign that is right or not known."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.likelihoods import minimized_likelihoods
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(loss, ascends=False):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.float32, [8, 3], "y")
        gradient = tf.gradients(loss(x @ w, y), [w])[0]
        gradient = -gradient if ascends else gradient
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    return list(minimized_likelihoods(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def mean_of_sums(values):
    return tf.reduce_mean(tf.reduce_sum(values, 1))


def likelihood(logits, y):
    return mean_of_sums(y * tf.math.log(tf.clip_by_value(tf.nn.softmax(logits), 1e-8, 1.0)))


def of_classes(logits, y):
    p = tf.sigmoid(logits)
    return tf.reduce_mean(y * tf.math.log(p + 1e-8) + (1.0 - y) * tf.math.log(1.0 - p + 1e-8))


def one_hot(logits, y):
    labels = tf.one_hot(v1.placeholder(tf.int32, [8], "labels"), 3)
    return mean_of_sums(labels * tf.math.log(tf.nn.softmax(logits)))


def log_softmax(logits, y):
    return mean_of_sums(y * tf.nn.log_softmax(logits))


@pytest.mark.parametrize("loss", [likelihood, of_classes, one_hot, log_softmax])
def test_a_likelihood_without_a_minus_sign_is_named(loss):
    (hazard,) = found(loss)
    assert hazard.id == "LIKELIHOOD_MINIMIZED" and "without the minus sign of a cross entropy" in hazard.description


@pytest.mark.parametrize("loss", [likelihood, of_classes, one_hot, log_softmax])
@pytest.mark.parametrize("negative", [lambda x: -x, lambda x: -0.5 * x, lambda x: 3.0 - x])
def test_a_likelihood_that_is_subtracted_is_not(loss, negative):
    assert found(lambda logits, y: negative(loss(logits, y))) == []


def test_a_likelihood_whose_gradient_is_followed_up_is_not():
    assert found(likelihood, ascends=True) == []


def rewarded(logits, y):
    """A policy gradient: the sign of what is fed is not known."""
    reward = v1.placeholder(tf.float32, [8], "reward")
    return tf.reduce_mean(tf.reduce_sum(y * tf.math.log(tf.nn.softmax(logits)), 1) * reward)


def entropy(logits, y):
    p = tf.nn.softmax(logits)
    return mean_of_sums(p * tf.math.log(p))


def fooled(logits, y):
    """The loss of a generator that minimizes log(1 - D)."""
    return tf.reduce_mean(tf.math.log(1.0 - tf.sigmoid(logits)))


@pytest.mark.parametrize("loss", [rewarded, entropy, fooled])
def test_other_logarithms_are_not(loss):
    assert found(loss) == []


def ranking(x):
    return tf.reduce_mean(tf.math.log(tf.sigmoid(x[:, 0] - x[:, 1])))


def of_the_chosen(x):
    labels = tf.one_hot(v1.placeholder(tf.int32, [8], "labels"), 3)
    return tf.reduce_mean(tf.math.log(tf.reduce_sum(tf.nn.softmax(x) * labels, 1) + 1e-8))


def log_sigmoid(x):
    return tf.reduce_mean(tf.math.log_sigmoid(x[:, 0] - x[:, 1]))


def mixture(x):
    """The density of one number of data, of three normal distributions."""
    far = tf.square((v1.placeholder(tf.float32, [8, 1], "number") - x) / 0.5)
    density = tf.reduce_sum(tf.nn.softmax(x) * tf.exp(-0.5 * far) / 1.25, 1)
    return tf.reduce_mean(tf.math.log(density + 1e-8))


def uniformity(x):
    """The logarithm of a kernel between results, which are driven apart on purpose."""
    return tf.math.log(tf.reduce_sum(tf.exp(-2.0 * tf.square(x[:4] - x[4:]))))


def both_ways(x):
    return tf.reduce_mean(tf.math.log_sigmoid(x) + tf.square(x - 1.0))


def of_two_sides(x):
    """A critic whose scores are never below 0."""
    return tf.reduce_mean(tf.nn.softplus(x[:4])) - tf.reduce_mean(tf.nn.softplus(x[4:]))


@pytest.mark.parametrize("loss", [uniformity, both_ways, of_two_sides])
def test_a_kernel_of_results_and_a_sigmoid_beside_another_term_of_it_are_not(loss):
    assert found(lambda x, y: loss(x)) == []


@pytest.mark.parametrize("loss, count", [(log_sigmoid, 1), (lambda x: -log_sigmoid(x), 0)])
def test_a_logarithm_of_a_sigmoid_by_its_own_op_is_named(loss, count):
    assert len(found(lambda x, y: loss(x))) == count


@pytest.mark.parametrize("likelihood_of", [ranking, of_the_chosen, mixture])
@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda likelihood: likelihood + 1.0, 1),
        (lambda likelihood: 0.5 * likelihood, 1),
        (lambda likelihood: -likelihood, 0),
        (lambda likelihood: tf.stop_gradient(likelihood), 0),
    ],
)
def test_a_logarithm_without_labels_that_is_added_is_named(likelihood_of, loss, count):
    decay = tf.reduce_mean
    assert len(found(lambda x, y: loss(likelihood_of(x)) + decay(tf.square(x)))) == count


def test_the_logarithm_of_a_critic_that_the_loss_does_not_train_is_not():
    def build():
        w, c = (v1.get_variable(name, [4, 4], use_resource=False) for name in ("w", "c"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        fake, real = tf.sigmoid((x @ w) @ c), tf.sigmoid(x @ c)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        critic = -tf.reduce_mean(tf.math.log(real) + tf.math.log(1.0 - fake))
        train = optimizer.minimize(critic, var_list=[c], name="critic")
        with tf.control_dependencies([train]):
            optimizer.minimize(tf.reduce_mean(tf.math.log(1.0 - fake)), var_list=[w], name="train")

    assert list(minimized_likelihoods(WholeGraph(saved(traced(build), trainable_variables=["w", "c"])))) == []


def teacher(loss):
    def build():
        w, t = (v1.get_variable(name, [4, 3], use_resource=False) for name in ("w", "t"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        soft = tf.stop_gradient(tf.nn.softmax(x @ t))
        v1.train.GradientDescentOptimizer(0.5).minimize(
            mean_of_sums(loss(soft, tf.nn.log_softmax(x @ w))), name="train"
        )

    return list(minimized_likelihoods(WholeGraph(saved(traced(build), trainable_variables=["w", "t"]))))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda soft, log: soft * log, 1),
        (lambda soft, log: -soft * log, 0),
        (lambda soft, log: soft * (tf.math.log(soft + 1e-8) - log), 0),
    ],
)
def test_probabilities_of_a_teacher_are_labels(loss, count):
    assert len(teacher(loss)) == count


@pytest.mark.parametrize("trained, count", [(("g",), 0), (("g", "w"), 1)])
def test_a_likelihood_by_a_classifier_that_another_loss_trains_is_not(trained, count):
    """An encoder hides a secret from an adversary, whose own loss has the minus sign."""

    def build():
        g, w = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("g", [4, 4]), ("w", [4, 3])))
        x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8], "y")
        hidden = tf.tanh(x @ g)
        logs = mean_of_sums(tf.one_hot(y, 3) * tf.nn.log_softmax(hidden @ w))
        descent = v1.train.GradientDescentOptimizer(0.5)
        own = descent.minimize(-logs, var_list=[w])
        hiding = tf.reduce_mean(tf.square(hidden @ tf.ones([4, 1]) - x)) + logs
        variables = [{"g": g, "w": w}[name] for name in trained]
        tf.group(own, descent.minimize(hiding, var_list=variables), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["g", "w"]))
    assert [hazard.id for hazard in minimized_likelihoods(whole)] == ["LIKELIHOOD_MINIMIZED"] * count
